/* Places of ranks on hosts, found by comparing host names, because each launcher has another variable for them. */
#pragma once

enum { DG_HOST_NAME = 256 }; /* bytes of a host name with its NUL */

typedef struct {
    int local_rank, local_size, hosts;
} dg_host_place;

/* Returns the place of `rank` among `size` ranks, whose host names are given. */
dg_host_place dg_host_place_of(const char (*host)[DG_HOST_NAME], int size, int rank);
