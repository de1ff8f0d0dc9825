#include "core/base/pipe.h"

dg_err dg_pipe_open(const char *path, dg_pipe *p)
{
    *p = (dg_pipe){.path = path, .fd = dg_output_descriptor(path)};
    if (p->fd >= 0) return DG_OK;
    const dg_err e = dg_stream_open(path, &p->fd);
    p->opened = p->fd >= 0;
    return e;
}

dg_err dg_pipe_close(dg_pipe *p, dg_err e)
{
    if (p->opened) e = dg_stream_close(p->fd, p->path, e);
    p->opened = false;
    return e;
}
