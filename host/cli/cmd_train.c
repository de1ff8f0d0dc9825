/* `dcgan --data DIR`: trains a model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file_io.h"
#include "core/base/clock.h"
#include "core/base/plural.h"
#include "core/group/group.h"
#include "host/rundir/best.h"
#include "host/rundir/history.h"
#include "host/cli/commands.h"
#include "host/cli/group/lead.h"
#include "host/cli/open_async.h"
#include "host/train/begin.h"
#include "host/train/classes.h"
#include "host/train/resume.h"
#include "host/train/settle.h"
#include "host/train/whitening.h"
#include "host/doctor/diversity.h"
#include "core/base/shell.h"
#include "host/data/looks.h"
#include "host/net/classifier.h"
#include "host/net/recipe.h"
#include "host/trainer/fit.h"
#include "host/run/length.h"
#include "host/options/option_table.h"
#include "host/train/train.h"
#include "host/run/stop.h"

/* Print the classes of a conditional GAN with the fewest and the most images. */
static dg_err note_sizes(const dg_training *r, const dg_model *model)
{
    const dg_dataset *d = &r->data;
    int *images, least = 0, most = 0;
    if (!model->classes) return DG_OK;
    const dg_err e = dg_class_images(d, &images);
    if (e) return e;
    for (int c = 0; c < d->classes; c++) {
        if (images[c] < images[least]) least = c;
        if (images[c] > images[most]) most = c;
    }
    dg_progress_note(r->progress, DG_MSG("note-class-sizes", "%d classes, from %d image%s (%s) to %d (%s)"), d->classes,
                     images[least], dg_s(images[least]), d->class_name[least], images[most], d->class_name[most]);
    free(images);
    return DG_OK;
}

static dg_err check_classes(const dg_training *r, dg_model *model, const dg_recipe *recipe)
{
    const dg_dataset *d = &r->data;
    const bool begins = !r->o->resume || (!r->o->resume_from && !dg_rundir_has(&r->dir, "checkpoint.safetensors"));
    const int before = dg_classifier_classes(model);
    const dg_err e = dg_follow_classes(r->o, d, begins, model);
    if (e || !recipe->labels) return e ? e : note_sizes(r, model);
    const int classes = dg_classifier_classes(model);
    if (classes != before)
        dg_progress_note(r->progress, "the dataset has %d classes: using model %s for as many classes", classes,
                         model->name);
    if (d->train == d->count)
        dg_progress_note(r->progress,
                         DG_MSG("note-no-test",
                                "the dataset has no test images; --test 0.1 holds out a tenth of the images"));
    else
        dg_progress_note(r->progress, DG_MSG("note-classes", "%d classes, %d image%s for training, %d for testing"),
                         d->classes, d->train, dg_s(d->train), d->count - d->train);
    if (d->train < d->count && classes > DG_CONFUSED_CLASSES)
        dg_progress_note(
            r->progress,
            DG_MSG("note-no-confusion-image",
                   "no confusion.png with more than %d classes; confusion.csv has only the accuracy of each class"),
            DG_CONFUSED_CLASSES);
    return DG_OK;
}

static dg_err advise(const dg_training *r, const dg_dataset_options *o)
{
    dg_looks l;
    char advice[DG_ADVICE][DG_ADVICE_BYTES], text[2 * DG_ADVICE_BYTES];
    const dg_err e = dg_looks_at(&r->data, &l);
    const int n = e ? 0 : dg_looks_advice(&l, &r->data, o, advice);
    for (int i = 0; i < n; i++) dg_progress_note(r->progress, "%s", dg_named_settings(text, sizeof text, advice[i]));
    dg_looks_free(&l);
    return e;
}

/* known: the dataset fingerprint in the resumed checkpoint, or 0 for a new run. */
static dg_err load_data(dg_training *r, dg_model *model, const dg_recipe *recipe, uint64_t known, dg_opening *opening)
{
    const dg_options *o = r->o;
    char skipped[4096], left_out[128], aside[64] = "";
    const dg_directory at = dg_rundir_at(&r->dir);
    dg_dataset_options d = dg_all_images(o, o->data, model->size, model->channels);
    d.least = dg_least_images(o);
    d.labelled = d.fixed_shape = recipe->labels;
    d.hash_labels = dg_needs_labels(o, model);
    d.test = o->test;
    d.seed = o->seed;
    d.cache = o->cache;
    d.may_stay = model->input != DG_INPUT_ZCA;
    d.most_mb = o->image_memory;
    d.keep_file = o->group && o->group->local_size > 1;
    d.skipped = dg_rundir_file(&r->dir, skipped, "skipped.txt");
    d.skipped_dir = &at;
    d.known = o->allow_data_change ? 0 : known;
    d.progress = dg_progress_reading;
    d.context = r->progress;
    d.stop = &dg_stop_signal;
    d.cancelled = dg_opening_failed;
    d.cancel_arg = opening;
    dg_err e = dg_dataset_load(&d, &r->data);
    if (e) return e;
    if (r->data.aside) snprintf(aside, sizeof aside, " (the training part; %d for testing)", r->data.aside);
    dg_progress_note(r->progress, DG_MSG("note-images", "%d image%s%s from %s%s"), r->data.count, dg_s(r->data.count),
                     aside, o->data, r->data.cached ? " (cached)" : "");
    if (!r->data.pixels)
        dg_progress_note(r->progress,
                         r->data.in_cache
                             ? DG_MSG("note-images-in-cache", "the images are too large for memory and are read "
                                                              "from the cache")
                             : DG_MSG("note-images-in-file",
                                      "the images are too large for memory and are read from a temporary file; "
                                      "{cache} FILE keeps them for later runs"));
    if (dg_dataset_listed(&d, &r->data))
        dg_progress_note(r->progress, DG_MSG("note-skipped", "%d file%s skipped, listed with reasons in %s"),
                         r->data.skips, dg_s(r->data.skips), skipped);
    if (*dg_left_out(&r->data, left_out, sizeof left_out))
        dg_progress_note(r->progress, DG_MSG("note-left-out", "ignored: %s"), left_out);
    e = r->expected ? DG_OK : advise(r, &d);
    return e || !d.hash_labels ? e : check_classes(r, model, recipe);
}

/* Open the device while images are loaded. If the device fails, remove skipped.txt of a new run. */
static dg_err open_and_load(dg_training *r, dg_model *model, const dg_recipe *recipe, uint64_t known)
{
    dg_opening *opening;
    dg_err e = dg_opening_start(r->o, &opening);
    if (!e) e = load_data(r, model, recipe, known, opening);
    const dg_err device = dg_opening_finish(&opening, &r->backend);
    if (!device) return e;
    if (!r->o->resume) unlinkat(r->dir.fd, "skipped.txt", 0);
    return device;
}

static dg_err set_classes(dg_training *r)
{
    int *images;
    dg_err e = dg_class_images(&r->data, &images);
    if (!e) e = dg_job_set_classes(&r->job, images);
    free(images);
    return e;
}

static dg_err build_job(dg_training *r, const dg_model *model, dg_checkpoint_info *info)
{
    const dg_options *o = r->o;
    const int count = r->data.train;
    r->batches = dg_steps_of_epoch(o, count);
    dg_job_options g = dg_options_run(o, o->batch, count, r->data.count - r->data.train);
    r->backend->group = o->group;
    r->input = info->input;
    info->input.whitening = NULL;
    dg_err e = DG_OK;
    if (model->input == DG_INPUT_STANDARD && !(r->input.std[0] > 0))
        e = dg_dataset_statistics(&r->data, o->threads, r->input.mean, r->input.std);
    g.input = r->input;
    if (!e) e = dg_build_to_fit(&r->job, model, &g, r->backend, o->device_memory);
    const int window = r->job.o.window;
    if (!e && window)
        dg_progress_note(
            r->progress,
            DG_MSG("note-windows",
                   "the dataset does not fit in device memory and is streamed through two buffers of %d images each"),
            window);
    if (!e) e = dg_train_whitening(r, model); /* after the memory check, because computing the ZCA whitening is slow */
    r->job.o.input = r->input;
    const dg_images images = dg_dataset_images(&r->data);
    dg_training_records records;
    if (!e) e = dg_job_view(&r->job, &images, r->data.label, &r->ready, &records);
    if (!e && model->classes) e = set_classes(r);
    if (e) return e;
    records.count = count;
    const dg_loader_options loading = dg_job_loading(&r->job, dg_images_of_epoch(o, count), o->seed);
    e = dg_loader_open(&r->feed, r->backend, &records, &loading);
    return e ? e : dg_job_alloc(&r->job, r->feed.data, r->feed.perm);
}

static dg_err open_outputs(dg_training *r)
{
    dg_outputs *w = &r->out;
    w->o = r->o;
    w->config = r->config;
    w->dir = &r->dir;
    w->data = &r->data;
    w->job = &r->job;
    w->log = r->log;
    return dg_outputs_open(w);
}

/* Count energy only if its counters counted the run from the start, and this process trains alone. */
static void open_energy(dg_training *r)
{
    if (r->o->group || !(r->energy = dg_energy_open("", r->backend->bus))) return;
    r->joules_before = dg_log_joules(r->log, dg_energy_of(r->energy));
    if (r->joules_before >= 0) return;
    dg_energy_close(r->energy);
    r->energy = NULL;
}

static void take_up_means(dg_training *r)
{
    long n;
    const dg_log_row *row = dg_log_rows(r->log, &n);
    if (n) r->seconds_before = row[n - 1].seconds;
    long first = n; /* first log row of the epoch */
    while (first > 0 && row[first - 1].epoch == r->read.epoch + 1) first--;
    for (long i = first; i < n; i++) dg_epoch_add(&r->epoch, r->job.recipe, row[i].value);
    if (dg_doctor_knows(r->job.recipe) && dg_doctor_take_up(&r->doctor, r->o->job.loss, row, n, r->dir.path))
        dg_warn("%s", dg_message());
    r->best = dg_best_settle(&r->dir, r->job.recipe, row, n, r->read.step);
    dg_evaluation_cut(&r->dir, r->read.epoch);
}

static dg_err open_critic(dg_training *r)
{
    const dg_options *o = r->o;
    char floor[300], reals[24] = "an unknown number of";
    if (!o->eval_every) return DG_OK;
    const dg_device d = dg_options_device(o);
    const dg_critic_fid fid = {o->inception, o->moments, (dg_fid_resize)o->inception_resize};
    const dg_err e = dg_critic_open(&r->critic, &r->job, &r->data, &d, &fid, r->progress, o->seed);
    if (e) return e;
    if (r->critic.fid_reals.images) snprintf(reals, sizeof reals, "%d", r->critic.fid_reals.images);
    if (o->inception)
        dg_progress_note(r->progress,
                         DG_MSG("note-inception",
                                "Inception weights: %s; resizing: %s; %d samples, %s real images%s; Frechet "
                                "distances of few images are too large, KID is not"),
                         dg_inception_name(r->critic.inception), dg_inception_resize(r->critic.inception),
                         r->critic.jury.count, reals, o->moments ? " (moments of a file)" : "");
    dg_progress_note(r->progress, "metrics of %d samples against %d real images; real-vs-real baseline: %s",
                     r->critic.jury.count, r->critic.jury.count,
                     dg_critic_text(r->critic.floor, NULL, floor, sizeof floor));
    return DG_OK;
}

/* The dataset has changed: set r->own to the options of a new run with the weights in `path`. */
static dg_err become_another(dg_training *r, const char *path, uint64_t then)
{
    if (r->o->group)
        return dg_fail(DG_DATA,
                       DG_MSG("ranks-other-images",
                              "the dataset has changed (%ju images before, %d now): start a new run with {init} %s, or "
                              "continue with {allow-data-change}"),
                       (uintmax_t)then, r->data.train, path);
    dg_err e = dg_train_own(r->o, path, &r->own);
    if (!e)
        dg_warn(DG_MSG("other-images",
                       "starting a new run, %s, from the weights of %s, because the dataset has changed (%ju images "
                       "before, %d now); --allow-data-change continues the old run"),
                r->own.out, r->o->out, (uintmax_t)then, r->data.train);
    return e ? e : dg_fail(DG_DATA, "the dataset has changed");
}

/* Print how to resume an older run, because a user may have forgotten --resume. */
static void note_older(dg_progress *p, const dg_options *o)
{
    char quoted[DG_SHELL_ROOM], older[4096];
    if (!dg_options_older_run(o, older, sizeof older)) return;
    dg_progress_note(p, DG_MSG("note-other-run", "%s also has a run; to resume it: %s --resume --out %s"), older,
                     dg_program(), dg_shell_path(quoted, sizeof quoted, older));
}

static dg_err settle_config(dg_training *r, const dg_model *model)
{
    char name[64];
    const bool follows = dg_model_name_classes(r->o->model, dg_classifier_classes(model), name) &&
                         !strcmp(name, model->name);
    const char *precision = dg_precision_name(r->backend->real, r->backend->math);
    char *text = follows ? dg_config_settled(r->o->resolved, "model", name) : strdup(r->o->resolved);
    r->config = text ? dg_config_settled(text, "precision", precision) : NULL;
    free(text);
    return r->config ? DG_OK : dg_fail(DG_DEVICE, "out of memory");
}

static dg_err check_program(const dg_training *r)
{
    dg_provenance here;
    dg_provenance_here(r->backend, dg_job_kernels(&r->job), &here);
    return dg_train_same_program(&r->expected->by, &here);
}

static dg_err set_up(dg_training *r)
{
    const dg_options *o = r->o;
    dg_model *model = malloc(sizeof *model);
    dg_st *st = NULL, *init = NULL;
    dg_checkpoint_info info = {0};
    char path[4096];
    bool others = false;
    if (!model) return dg_fail(DG_DEVICE, "out of memory");
    dg_err e = dg_rundir_open(o->out, o->resume, &r->dir);
    if (!e && !o->resume) e = dg_save_config(&r->dir, o->resolved);
    if (!e && o->resume) e = dg_history_take_up(&r->dir);
    if (!e) e = o->resume ? dg_train_find(r, path, &st, model, &info) : dg_model_read(o->model, model);
    const dg_recipe *recipe;
    if (!e) e = dg_recipe_for(model, &recipe);
    if (!e && o->eval_every && !recipe->sample)
        e = dg_fail(DG_USAGE,
                    DG_MSG("eval-every-classifier",
                           "--eval-every %d: needs a model that generates images; use --test with classifier %s"),
                    o->eval_every, model->name);
    if (!e && !st) e = dg_train_weights(o, model, &init);
    const dg_checkpoint_info *const before = r->expected ? r->expected : &info;
    if (!e) e = open_and_load(r, model, recipe, before->data_fingerprint);
    if (!e && st) e = dg_train_compare(r, before, &others);
    if (!e && others) e = become_another(r, path, info.data_count);
    if (!e) e = settle_config(r, model);
    if (!e) e = dg_train_settle(r, model);
    o = r->o;
    if (!e) e = build_job(r, model, &info);
    if (!e && r->expected) e = check_program(r);
    if (!e) e = open_critic(r); /* open_critic may refuse the dataset, so it runs before the run directory is changed */
    if (!e) e = dg_lead_begin(r, model); /* before dg_train_resume, which may move files of the run */
    if (!e) e = dg_lead_weights(r, st ? dg_train_resume(r, st, path, &info) : dg_train_begin(r, init));
    const bool settled = !e && (o->resume || strcmp(r->config, o->resolved));
    if (settled) e = dg_save_config(&r->dir, r->config);
    if (!e) e = dg_log_open(&r->dir, r->job.recipe, r->expected ? 0 : r->read.step, &r->log);
    if (!e && o->eval_every) e = dg_log_judge(r->log, &r->dir, o->inception ? DG_LOGGED : DG_LOGGED_ALWAYS);
    if (!e) e = dg_ring_reader_open(&r->metrics, &r->job, r->read.step);
    if (!e && o->tensorboard) e = dg_log_events(r->log, &r->dir, r->read.step);
    if (!e) e = open_outputs(r);
    if (!e) dg_progress_recipe(r->progress, r->job.recipe);
    if (!e) take_up_means(r);
    if (!e && !r->expected) open_energy(r);
    if (!e && st && !r->expected)
        dg_progress_note(r->progress, "resuming %s after epoch %llu, step %llu", r->dir.path,
                         (unsigned long long)r->read.epoch, (unsigned long long)r->read.step);
    if (!e && o->changed) dg_progress_note(r->progress, DG_MSG("note-changed", "changed settings: %s"), o->changed);
    if (!e && !r->expected)
        dg_progress_note(r->progress, DG_MSG("note-device", "%s, %s on %s: %d epoch%s of %d step%s, batch %d, into %s"),
                         model->name, dg_precision_name(r->backend->real, r->backend->math), r->backend->name,
                         o->epochs, dg_s(o->epochs), r->batches, dg_s(r->batches), o->batch, r->dir.path);
    if (!e) dg_note_shards(r);
    if (!e) note_older(r->progress, o);
    dg_checkpoint_info_free(&info);
    dg_st_free(st);
    dg_st_free(init);
    free(model);
    return e;
}

static void close_energy(dg_training *r)
{
    const double steps = (double)(r->read.step - r->first_step);
    const double joules = r->energy ? dg_energy_joules(r->energy, true) : 0;
    if (joules > 0 && steps > 0)
        dg_progress_note(r->progress,
                         DG_MSG("note-energy", "energy: %.4g kJ since the start of the run, %.3g J per image in this "
                                               "session (%s, with the work of other programs)"),
                         1e-3 * (r->joules_before + joules), joules / (steps * r->o->batch), dg_energy_of(r->energy));
    dg_energy_close(r->energy);
}

static dg_err take_down(dg_training *r)
{
    dg_err e = dg_outputs_close(&r->out), f = r->log ? dg_log_close(r->log) : DG_OK;
    dg_ring_reader_close(&r->metrics);
    dg_job_free(&r->job);
    dg_loader_close(&r->feed);
    dg_evaluation_free(&r->tested);
    dg_critic_close(&r->critic);
    free(r->ready);
    dg_whitening_free(r->input.whitening);
    close_energy(r);
    if (r->backend) r->backend->close(r->backend);
    dg_dataset_free(&r->data);
    dg_progress_close(r->progress);
    return r->out.error ? r->out.error : e ? e : f;
}

static void say_finished(const dg_training *r)
{
    const dg_options *o = r->o;
    const unsigned long long epoch = r->read.epoch, step = r->read.step;
    if (!o->resume || !step || step != r->first_step) return;
    if (epoch >= (uint64_t)o->epochs)
        dg_say("finished:  nothing to do: %llu epoch%s done of %d; use a larger --epochs N", epoch,
               dg_s((int64_t)epoch), o->epochs);
    else if (o->steps > 0 && step >= (uint64_t)o->steps)
        dg_say("finished:  nothing to do: %llu step%s done of %ld; use a larger --steps N, or 0", step,
               dg_s((int64_t)step), o->steps);
}

/* The list of output files and next commands is the command's result, so it is printed to stdout. */
static void say_goodbye(const dg_training *r, const dg_recipe *of)
{
    const dg_options *o = r->o;
    char dir[DG_SHELL_ROOM];
    bool removed;
    if (o->quiet || dg_rundir_check(&r->dir, &removed)) return;
    dg_shell_path(dir, sizeof dir, r->dir.path);
    const bool saved = r->out.saved.step == r->read.step;
    say_finished(r);
    if (!o->no_report && dg_rundir_has(&r->dir, "report.html")) dg_say("report:    %s/report.html", r->dir.path);
    if (!saved && r->out.saved.step)
        dg_say("saved:     the state after step %ju (epoch %ju), but no later steps: %s/checkpoint.safetensors",
               (uintmax_t)r->out.saved.step, (uintmax_t)r->out.saved.epoch + (r->out.saved.batch > 0), r->dir.path);
    if (!saved && !r->out.saved.step)
        dg_say("saved:     no checkpoint was written; --resume starts from the beginning");
    if (saved && r->read.epoch >= (uint64_t)o->epochs) {
        if (dg_rundir_has(&r->dir, "epoch-%04ju.png", (uintmax_t)r->read.epoch))
            dg_say("samples:   %s/epoch-%04ju.png", r->dir.path, (uintmax_t)r->read.epoch);
        dg_say("more:      %s --resume --out %s --epochs %d", dg_program(), dir,
               o->epochs > 500000 ? 1000000 : o->epochs * 2);
        if (of && of->sample) dg_say("images:    %s generate %s --count 16", dg_program(), dir);
        if (of && of->labels) dg_say("classify:  %s classify %s IMAGES", dg_program(), dir);
    } else if (saved && o->steps > 0 && r->read.step >= (uint64_t)o->steps) {
        dg_say("more:      %s --resume --out %s --steps %ld", dg_program(), dir, 2 * o->steps);
    } else {
        dg_say("resume:    %s --resume --out %s", dg_program(), dir);
    }
    if (saved && !r->read.epoch && of && of->sample) dg_say("images:    %s generate %s --count 16", dg_program(), dir);
}

/* If own->resolved is set on return, the caller must start a run with the options *own. */
static dg_err train(const dg_options *o, const dg_checkpoint_info *expected, dg_options *own)
{
    *own = (dg_options){0};
    dg_training *r = calloc(1, sizeof *r);
    if (!r) return dg_fail(DG_DEVICE, "out of memory");
    r->o = o;
    r->expected = expected;
    r->dir.fd = r->dir.lock = -1;
    r->progress = dg_progress_open(o->quiet);
    dg_catch_signals();
    if (!o->quiet) dg_stop_says("stopping before the first step\n");
    dg_err e = set_up(r);
    const bool begun = !e;
    if (begun) {
        r->started = dg_clock();
        if (!o->quiet)
            dg_stop_says(expected ? "stopping after this step; a second signal exits at once\n"
                                  : DG_MSG("signal-received",
                                           "finishing the step, then saving; a second signal exits at once\n"));
        e = dg_train_loop(r);
    }
    if (!o->quiet) dg_stop_says("writing the last files; a second signal exits at once\n");
    char why[DG_MESSAGE_BYTES];
    snprintf(why, sizeof why, "%s", dg_message());
    const dg_recipe *of = begun ? r->job.recipe : NULL;
    const dg_err saving = take_down(r);
    char unsaved[DG_MESSAGE_BYTES];
    snprintf(unsaved, sizeof unsaved, "%s", dg_message());
    if (!e && !expected) say_goodbye(r, of);
    if (begun || o->resume) dg_rundir_close(&r->dir);
    else dg_rundir_abandon(&r->dir);
    if (e) dg_set_message("%s", why);
    else if (saving) e = dg_fail(saving, "not everything was saved: %s; training finished", unsaved);
    if (dg_stop_signal && (!e || e == DG_FAILED)) e = (dg_err)(128 + dg_stop_signal);
    dg_lead_finish(r, e);
    *own = r->own;
    free(r->config);
    free(r);
    return e;
}

dg_err dg_train_again(const dg_options *o, const dg_checkpoint_info *expected)
{
    dg_options none;
    return train(o, expected, &none);
}

int dg_cmd_train(const dg_options *o)
{
    dg_options own, none;
    dg_err e = train(o, NULL, &own);
    if (own.resolved) e = train(&own, NULL, &none);
    dg_train_own_free(&own);
    return (int)e;
}
