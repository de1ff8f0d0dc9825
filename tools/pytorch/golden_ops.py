#!/usr/bin/env python3
"""What PyTorch computes for a few small ops, in double, as a C header:

    tools/pytorch/golden_ops.py > tests/kernels/ops/golden_ops.h
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)


def show(name, t):
    """NHWC order for images; numbers that a float holds exactly stay exact in C."""
    t = t.detach()
    if t.dim() == 4:
        t = t.permute(0, 2, 3, 1)
    values = [float(v).hex() for v in t.reshape(-1)]
    lines = [', '.join(values[i:i + 4]) for i in range(0, len(values), 4)]
    print(f'static const double golden_{name}[{len(values)}] = {{\n    ' + ',\n    '.join(lines) + '};')


def exact(*shape):
    return torch.randn(*shape).float().double()


version = torch.__version__.split('+')[0]
print(f'/* Made by tools/pytorch/golden_ops.py with PyTorch {version} in double; do not edit. */')
print('#ifndef DG_GOLDEN_OPS_H\n#define DG_GOLDEN_OPS_H\n')

print('/* BatchNorm2d(2) in training, then LeakyReLU(0.2); the loss is the sum of y * weight. */')
norm = nn.BatchNorm2d(2)
with torch.no_grad():
    norm.weight.copy_(exact(2) * 0.1 + 1)
    norm.bias.copy_(exact(2) * 0.1)
    for p in norm.parameters():
        p.copy_(p.float().double())
    norm.running_mean.copy_(exact(2))
    norm.running_var.copy_(exact(2).abs())
x, weight = exact(2, 2, 2, 2).requires_grad_(), exact(2, 2, 2, 2)
show('norm_x', x)
show('norm_weight', weight)
show('norm_gamma', norm.weight)
show('norm_beta', norm.bias)
show('norm_mean0', norm.running_mean)
show('norm_var0', norm.running_var)
y = nn.LeakyReLU(0.2)(norm(x))
(y * weight).sum().backward()
show('norm_y', y)
show('norm_dx', x.grad)
show('norm_dgamma', norm.weight.grad)
show('norm_dbeta', norm.bias.grad)
show('norm_mean', norm.running_mean)
show('norm_var', norm.running_var)

print('\n/* BCEWithLogitsLoss against targets of 1 and of 0, with gradients and mean sigmoids. */')
logit = (exact(9) * 6).float().double().requires_grad_()
show('bce_logit', logit)
show('bce_prob', logit.sigmoid().mean())
for t in (0, 1):
    logit.grad = None
    loss = nn.BCEWithLogitsLoss()(logit, torch.full((9,), float(t)))
    loss.backward()
    show(f'bce_loss{t}', loss)
    show(f'bce_dlogit{t}', logit.grad)

print('\n/* torch.optim.Adam(lr 2e-4, betas (0.5, 0.999), eps 1e-8): weights after each of three steps. */')
p = nn.Parameter(exact(5))
show('adam_p0', p)
adam = torch.optim.Adam([p], lr=2e-4, betas=(0.5, 0.999), eps=1e-8)
for step in range(3):
    p.grad = exact(5) * torch.tensor([1.0, 0.125, 0.0, 1e-4, 64.0])
    p.grad = p.grad.float().double()
    show(f'adam_g{step}', p.grad)
    adam.step()
    show(f'adam_p{step + 1}', p)

print('\n/* CrossEntropyLoss without and with label smoothing of 0.1, its gradients, and softmax. */')
logit = (exact(4, 5) * 4).float().double().requires_grad_()
label = torch.tensor([3, 0, 4, 1])
show('softmax_logit', logit)
show('softmax_label', label)
show('softmax_p', logit.softmax(1))
for s in ('', '_smooth'):
    logit.grad = None
    loss = nn.CrossEntropyLoss(label_smoothing=0.1 if s else 0)(logit, label)
    loss.backward()
    show('softmax_loss' + s, loss)
    show('softmax_dlogit' + s, logit.grad)

print('\n/* Five steps of three optimisers: weights after each, of which the first three decay by 0.01. */')
p0, grads = exact(5), [(exact(5) * torch.tensor([1.0, 0.125, 0.0, 1e-4, 64.0])).float().double() for _ in range(5)]
show('update_p0', p0)
show('update_g', torch.stack(grads))
for name, make in {
    'sgd': lambda g: torch.optim.SGD(g, lr=0.05),
    'momentum': lambda g: torch.optim.SGD(g, lr=0.05, momentum=0.9),
    'nesterov': lambda g: torch.optim.SGD(g, lr=0.05, momentum=0.9, nesterov=True),
    'adagrad': lambda g: torch.optim.Adagrad(g, lr=0.05, eps=1e-10, initial_accumulator_value=0.125),
    'adadelta': lambda g: torch.optim.Adadelta(g, lr=0.05, rho=0.9, eps=1e-6),
}.items():
    p = [nn.Parameter(p0[:3].clone()), nn.Parameter(p0[3:].clone())]
    optimizer, after = make([{'params': p[0], 'weight_decay': 0.01}, {'params': p[1]}]), []
    for g in grads:
        p[0].grad, p[1].grad = g[:3].clone(), g[3:].clone()
        optimizer.step()
        after.append(torch.cat(p).detach().clone())
    show('update_' + name, torch.stack(after))

print('\n/* GAN losses and their gradients with respect to the logits. '
      'Table `golden` of rows_loss.h names each loss. */')
logit, other = ((exact(9) * 2).float().double().requires_grad_() for _ in range(2))
show('gan_logit', logit)
show('gan_other', other)
relativistic = ((logit - other.mean() - 1) ** 2).mean() / 2 + ((other - logit.mean() + 1) ** 2).mean() / 2
mirrored = ((logit - other.mean() + 1) ** 2).mean() / 2 + ((other - logit.mean() - 1) ** 2).mean() / 2
for i, loss in enumerate([nn.MSELoss()(logit, torch.ones(9)) / 2, nn.MSELoss()(logit, torch.zeros(9)) / 2,
                          (1 - logit).relu().mean(), (1 + logit).relu().mean(), -logit.mean(), relativistic, mirrored,
                          relativistic, F.softplus(-(logit - other)).mean(), F.softplus(logit - other).mean()]):
    gradient, = torch.autograd.grad(loss, logit, retain_graph=True)
    show(f'gan_dlogit{i}', gradient)
    if i not in (5, 6, 9):
        show(f'gan_loss{i}', loss)
print("""
/* torch.nn.utils.spectral_norm of a Linear(5, 3): its weights, u and v before and after a pass in training, what the
 * layer multiplies with, and the gradient of the sum of y * weight. */""")
linear = nn.utils.spectral_norm(nn.Linear(5, 3, bias=False))
with torch.no_grad():
    linear.weight_orig.copy_(exact(3, 5))
    for t in (linear.weight_u, linear.weight_v):
        t.copy_((t.float()).double())
show('spectral_w', linear.weight_orig)
show('spectral_u0', linear.weight_u.clone())
x, weight = exact(4, 5), exact(4, 3)
(linear(x) * weight).sum().backward()
show('spectral_dwn', weight.T @ x)
for name, t in (('u', linear.weight_u), ('v', linear.weight_v), ('wn', linear.weight), ('dw', linear.weight_orig.grad)):
    show('spectral_' + name, t)

print('\n#endif')
