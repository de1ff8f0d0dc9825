#include "host/group/hosts.h"

#include <string.h>

dg_host_place dg_host_place_of(const char (*host)[DG_HOST_NAME], int size, int rank)
{
    dg_host_place p = {0, 0, 0};
    for (int r = 0; r < size; r++) {
        int first = 0; /* rank of the first process on the host of r */
        while (strncmp(host[first], host[r], DG_HOST_NAME) != 0) first++;
        p.hosts += first == r;
        if (strncmp(host[r], host[rank], DG_HOST_NAME) != 0) continue;
        p.local_rank += r < rank;
        p.local_size++;
    }
    return p;
}
