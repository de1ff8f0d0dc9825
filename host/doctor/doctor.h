/* What goes wrong in the training of a GAN, by rules over its log and its grids: when it began, when it ended, and what
 * to try. docs/guide/doctor.md explains each rule. */
#ifndef DG_DOCTOR_H
#define DG_DOCTOR_H

#include "host/net/job.h"
#include "host/rundir/log_text.h"

enum {
    DG_DOCTOR_WINDOW = 250,  /* steps that are looked at together */
    DG_DOCTOR_WARM_UP = 500, /* before this step grids may be noise, which differs much */
    DG_DOCTOR_TOLD = 3       /* so many findings of a rule are reported one by one */
};

/* What a rule looks at: a window of the log, its newest grid and its newest measures. */
typedef struct {
    uint64_t step, epoch;                    /* of its last row */
    double d_x, d_gz, loss_d, most_loss_d;   /* means; D(G(z)) before D's update; the largest */
    double most_loss, mean_loss;             /* of D or G, whichever is larger */
    double swing;                            /* standard deviation of D(x) - D(G(z)) */
    double loss_d_before;                    /* mean of the window before; NaN: it is not in the log */
    double guess;                            /* D's loss where it cannot tell real images from samples */
    long rows;                               /* of the window */
    uint64_t span;                           /* steps from its first row to its last */
    double diversity, best_diversity;        /* of the grid, beside the real images'; NaN: no grid yet */
    double settled_diversity;                /* the best from DG_DOCTOR_WARM_UP on; NaN: no grid since */
    double coverage, best_coverage, nearest; /* with --eval-every; NaN */
    double recall;
} dg_vitals;

typedef struct {
    const char *name;
    bool (*needs)(const dg_vitals *v);   /* what must hold before a finding may begin */
    const char *when;                    /* the same in words, as docs/guide/doctor.md has it */
    double (*value)(const dg_vitals *v); /* NaN: not known, which changes nothing */
    bool below;                          /* it begins below `begins` and ends above `ends`; otherwise the other way */
    double begins, ends;
    int windows;                       /* so many one behind the other */
    bool at_end;                       /* judged when the run ends, of what is there then */
    bool collapse;                     /* --stop-on-collapse stops */
    const char *says, *ended, *advice; /* says has one number, its worst value */
} dg_doctor_rule;

extern const dg_doctor_rule dg_doctor_rules[]; /* ends with name NULL */
enum { DG_DOCTOR_RULES = 9 };

typedef struct {
    const dg_doctor_rule *rule;
    uint64_t epoch, step;         /* when it began */
    uint64_t end_epoch, end_step; /* 0: it goes on */
    double worst;
    int repeats;  /* 0: it stands for itself; else for so many, all of the rule's from the fourth on */
    bool summary; /* of those, when the run is over */
} dg_finding;

/* How different the images of an epoch's grid are, beside real ones: 1 is as much (diversity.h). */
typedef struct {
    uint64_t epoch;
    double diversity;
} dg_grid_seen;

enum { DG_FINDINGS = DG_DOCTOR_RULES * (DG_DOCTOR_TOLD + 1) };

typedef struct {
    dg_finding finding[DG_FINDINGS];
    int findings;
    dg_vitals now;
    struct { /* of the window under way */
        long rows;
        uint64_t number, first;
        double d_x, d_gz, loss_d, loss_g, margin, margin_squares;
    } sum;
    uint64_t number_before; /* 1 + that of the window before */
    int in_a_row[DG_DOCTOR_RULES], times[DG_DOCTOR_RULES];
    /* 1 + places of the finding that goes on, and of the one that stands for the repeated ones */
    int open[DG_DOCTOR_RULES], repeated[DG_DOCTOR_RULES];
} dg_doctor;

/* Is this what it knows of? */
bool dg_doctor_knows(const dg_recipe *r);
void dg_doctor_begin(dg_doctor *d, dg_loss loss);

/* A row, and a grid, in the order of the run. `news` gets each finding that begins or ends. */
typedef void dg_doctor_news(void *context, const dg_finding *f);
void dg_doctor_row(dg_doctor *d, const dg_log_row *row, dg_doctor_news *news, void *context);
void dg_doctor_grid(dg_doctor *d, const dg_grid_seen *grid);
/* There are no more rows: judge the window under way, and, where the run has done all of its epochs, what is judged at
 * its end. */
void dg_doctor_end(dg_doctor *d, bool finished, dg_doctor_news *news, void *context);
/* Give `news` a summary of each rule's findings from the fourth on. */
void dg_doctor_sum_up(const dg_doctor *d, dg_doctor_news *news, void *context);

/* All of that of a log and its grids, both in their order, but its end. */
void dg_doctor_replay(dg_doctor *d, dg_loss loss, const dg_log_row *row, long rows, const dg_grid_seen *grid,
                      int grids);
/* And that as well; returns d->findings. */
int dg_doctor_examine(dg_doctor *d, dg_loss loss, bool finished, const dg_log_row *row, long rows,
                      const dg_grid_seen *grid, int grids);

/* Is this one of a rule's findings that are counted only? */
bool dg_finding_is_counted(const dg_finding *f);

/* "D wins: it tells ... (0.92)"; of one that ended "D wins no more"; of repeated ones their number, too. */
char *dg_finding_text(const dg_finding *f, char *out, size_t size);

#endif
