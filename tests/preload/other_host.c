/* Makes the program believe that its machine has the name node-b. */
#include <string.h>

#include "next.h"

int gethostname(char *name, size_t n)
{
    strncpy(name, "node-b", n);
    return 0;
}
