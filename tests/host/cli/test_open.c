/* A backend is opened although its thread cannot start. */
#include "failing.h"

#include "host/cli/open_async.h"
#include "command_line.h"
#include "test.h"

#if DG_FAILING
int main(void)
{
    dg_options o;
    dg_opening *opening;
    dg_backend *b = NULL;
    DG_WORKS(parse_line("--data cats --device auto", &o));
    arm(THREAD, 0, true);
    DG_WORKS(dg_opening_start(&o, &opening));
    DG_CHECK(disarm() && !dg_opening_failed(opening));
    DG_WORKS(dg_opening_finish(&opening, &b));
    DG_CHECK(b && !opening);
    b->close(b);
    dg_options_free(&o);
    DG_WORKS(parse_line("--data cats --device cuda:999", &o));
    arm(THREAD, 0, true);
    DG_REFUSED(dg_opening_start(&o, &opening), DG_DEVICE, "cuda");
    DG_CHECK(disarm() && dg_opening_failed(opening));
    DG_REFUSED(dg_opening_finish(&opening, &b), DG_DEVICE, "cuda");
    arm(MEMORY, 1, true);
    DG_REFUSED(dg_opening_start(&o, &opening), DG_DEVICE, "out of memory");
    DG_CHECK(disarm() && !dg_opening_finish(&opening, &b));
    dg_options_free(&o);
    return dg_test_report();
}
#else
int main(void) { return dg_test_without_failing(); }
#endif
