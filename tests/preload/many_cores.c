/* Makes the program believe that the machine has 64 processors online. */
#include "next.h"

long sysconf(int name)
{
    NEXT(long, "sysconf", int)
    return name == _SC_NPROCESSORS_ONLN ? 64 : real(name);
}
