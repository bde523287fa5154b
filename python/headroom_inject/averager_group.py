# SPDX-License-Identifier: Apache-2.0
"""A process group of torch.distributed whose collectives go through headroom's averager: one machine, one segment of shared memory,
no NCCL or RCCL and no peer copies. Each group has one thread that does its collectives in the order in which they were asked for,
so that averages are made while the backward pass goes on."""
import atexit
import os
import queue
import threading
import time
import weakref

import torch
import torch.distributed as dist

from headroom_inject.averager_exchange import Exchange, name_of
from headroom_inject.averager_library import FAIL, FINISH, Averager
from headroom_inject.averager_work import POLL_S, Failure, Work, done

_MOST_RANKS = 16
_PIECE_BYTES = 8 << 20
_MOST_UNASKED = 64  # Nobody waits for more at once; those of whom nobody asks are forgotten in the end.
_SHARE_OF_SHM = 4  # A rank takes two pieces, so half of what is free at most: others need it too, DataLoaders for instance.
_WAIT_AT_END_S = 5  # For what was asked for and never waited for; others may never take part in it.
_made = {}  # How many groups of a name there were: one that is made anew must not meet the segment of the one before.


def create(options, _backend_options=None):
    """For torch.distributed.Backend.register_backend(…, extended_api=True)."""
    return AveragerGroup(options.group_rank, options.group_size, options.store, options.timeout, options.group_id)


def _choose_piece(store, rank, ranks, name):
    """By rank 0 for all: as much as /dev/shm has room for. Containers often have 64 MiB."""
    key = f"headroom/piece/{name}"
    if rank == 0:
        status = os.statvfs("/dev/shm")
        room = status.f_bavail * status.f_frsize // (_SHARE_OF_SHM * ranks)
        store.set(key, str(max(4096, min(_PIECE_BYTES, room) // 4096 * 4096)))
    return int(store.get(key))


class AveragerGroup(dist.ProcessGroup):
    def __init__(self, rank, ranks, store, timeout, group_id):
        super().__init__(rank, ranks)
        if ranks > _MOST_RANKS:
            raise RuntimeError(f"headroom: expected at most {_MOST_RANKS} ranks, found {ranks}; run with "
                               "HEADROOM_RANKS_BACKEND=keep, which leaves the script's own backend")
        self._rank, self._ranks, self._store, self._sent = rank, ranks, store, {}
        self._name, self._timeout_s = group_id, timeout.total_seconds()
        # Works that nobody has asked yet: PyTorch up to 2.4 at least keeps of one that it was given in C++ only what C++ has, and
        # would wait for ever for what only Python knows.
        self._works = {}
        _made[group_id] = _made.get(group_id, 0) + 1
        name = f"{os.environ.get('HEADROOM_RANKS_JOB', 'job')}.{_made[group_id]}.{group_id}"
        piece = _choose_piece(store, rank, ranks, name)
        policy = FINISH if os.environ.get("HEADROOM_RANKS_LOST") == "continue" else FAIL
        timeout_ms = min(int(timeout.total_seconds() * 1000), 2**31)
        averager = Averager(os.environ["HEADROOM_AVERAGER_LIBRARY"], _file_name(name), rank, ranks, 2 * piece, timeout_ms, policy)
        self._asked = queue.SimpleQueue()
        self._doer = _Doer(Exchange(averager, rank, ranks, piece))
        self._thread = threading.Thread(target=_serve, args=(self._asked, averager, self._doer),
                                        name="headroom-averager", daemon=True)
        self._thread.start()
        atexit.register(_stop, weakref.ref(self))

    def _do(self, what, action, result, tensors):
        """Asks for action(exchange); returns the work, whose result it is. `what` has to be the same on all ranks."""
        devices = sorted({one.device for one in tensors if one.is_cuda}, key=str)
        future = torch.futures.Future(devices=devices) if devices else torch.futures.Future()
        events = [(device, torch.cuda.current_stream(device).record_event()) for device in devices]
        work = Work(future, self._works)
        self._keep(work)
        is_inference = any(one.is_inference() for one in tensors)
        task = (what, action, result, future, events, is_inference)
        if threading.current_thread() is self._thread:  # A callback asks, and may wait for it (PowerSGD's do).
            self._doer.do(*task)  # Right behind what it is a callback of, so on all ranks in the same place.
        else:
            self._asked.put(task)
        return work

    def _keep(self, work):
        self._works[id(work)] = work
        if len(self._works) > _MOST_UNASKED:
            self._works.pop(next(iter(self._works)))
        return work

    # Of one rank with itself, and of all with all.

    def allreduce(self, tensors, opts=None):
        op = opts.reduceOp if opts is not None else dist.ReduceOp.SUM
        return self._do(("allreduce", name_of(op), _shapes(tensors)),
                        lambda exchange: [_in_place(one, lambda t: exchange.reduce(t, op)) for one in tensors], tensors, tensors)

    def allreduce_coalesced(self, tensors, opts=None):
        return self.allreduce(tensors, opts)

    def reduce(self, tensors, opts):
        def act(exchange):
            for one in tensors:
                copy = one.contiguous().clone()
                exchange.reduce(copy, opts.reduceOp)
                if self._rank == opts.rootRank:
                    one.copy_(copy)
        return self._do(("reduce", name_of(opts.reduceOp), opts.rootRank, _shapes(tensors)), act, tensors, tensors)

    def broadcast(self, tensors, opts):
        return self._do(("broadcast", opts.rootRank, _shapes(tensors)),
                        lambda exchange: [_in_place(one, lambda t: exchange.broadcast(t, opts.rootRank)) for one in tensors],
                        tensors, tensors)

    def barrier(self, opts=None):
        return self._do(("barrier",), lambda exchange: None, [], [])

    # From each to all.

    def allgather(self, outputs, inputs, opts=None):
        def act(exchange):
            for targets, source in zip(outputs, inputs):
                _spread(exchange.gather(source.contiguous()), targets)
        return self._do(("allgather", _shapes(inputs)), act, outputs, [*inputs, *(one for row in outputs for one in row)])

    def allgather_coalesced(self, outputs, inputs, opts=None):
        return self.allgather([list(row) for row in zip(*outputs)], inputs, opts)

    def _allgather_base(self, output, source, opts=None):
        return self.allgather_into_tensor_coalesced([output], [source], opts)

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        def act(exchange):
            for output, source in zip(outputs, inputs):
                output.copy_(exchange.gather(source.contiguous()).view(output.shape))
        return self._do(("allgather_into_tensor", _shapes(inputs)), act, outputs, [*inputs, *outputs])

    def gather(self, outputs, inputs, opts):
        def act(exchange):
            for i, source in enumerate(inputs):
                _spread(exchange.gather(source.contiguous()), outputs[i] if self._rank == opts.rootRank else [])
        return self._do(("gather", opts.rootRank, _shapes(inputs)), act, outputs, [*inputs, *(one for row in outputs for one in row)])

    # From all to each.

    def scatter(self, outputs, inputs, opts):
        def act(exchange):
            for i, output in enumerate(outputs):
                rows = torch.stack([one.contiguous() for one in inputs[i]]) if self._rank == opts.rootRank else \
                    output.new_empty((self._ranks, *output.shape))
                exchange.broadcast(rows, opts.rootRank)
                output.copy_(rows[self._rank])
        return self._do(("scatter", opts.rootRank, _shapes(outputs)), act, outputs, outputs)

    def reduce_scatter(self, outputs, inputs, opts):
        def act(exchange):
            for output, sources in zip(outputs, inputs):
                self._reduce_rows(exchange, output, torch.stack([one.contiguous() for one in sources]), opts.reduceOp)
        return self._do(("reduce_scatter", name_of(opts.reduceOp), _shapes(outputs)), act, outputs, outputs)

    def _reduce_scatter_base(self, output, source, opts):
        return self.reduce_scatter_tensor_coalesced([output], [source], opts)

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts):
        def act(exchange):
            for output, source in zip(outputs, inputs):
                self._reduce_rows(exchange, output, source.contiguous().clone().view(self._ranks, -1), opts.reduceOp)
        return self._do(("reduce_scatter_tensor", name_of(opts.reduceOp), _shapes(outputs), _shapes(inputs)), act, outputs,
                        [*outputs, *inputs])

    def _reduce_rows(self, exchange, output, rows, op):
        exchange.reduce(rows, op)
        output.copy_(rows[self._rank].view(output.shape))

    def alltoall(self, outputs, inputs, opts=None):
        def act(exchange):
            both = exchange.gather(torch.tensor([[one.numel() for one in inputs], [one.numel() for one in outputs]], device="cpu"))
            sizes = both[:, 0]
            if not torch.equal(sizes, both[:, 1].t()):
                raise RuntimeError(f"headroom: all-to-all: expected that every rank receives what the others send it, found (from, to) "
                                   f"{sizes.tolist()} values sent and {both[:, 1].t().tolist()} expected; give each rank the sizes "
                                   "that the others send")
            everything = torch.cat([one.reshape(-1) for one in inputs])
            for root in range(self._ranks):
                theirs = everything if root == self._rank else everything.new_empty(int(sizes[root].sum()))
                exchange.broadcast(theirs, root)
                begin = int(sizes[root, :self._rank].sum())
                outputs[root].copy_(theirs[begin:begin + outputs[root].numel()].view(outputs[root].shape))
        return self._do(("alltoall", str(inputs[0].dtype)), act, outputs, [*inputs, *outputs])

    def alltoall_base(self, output, source, output_sizes, input_sizes, opts=None):
        even = [len(output) // self._ranks] * self._ranks
        return self.alltoall(list(output.split(output_sizes or even)), list(source.split(input_sizes or even)), opts)

    # Between two. Through the store: slow, but no third rank has to take part.

    def send(self, tensors, target, tag=0):
        data = b"".join(one.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes() for one in tensors)
        self._store.set(self._key(self._rank, target, tag), _shapes(tensors).encode() + b"\n" + data)
        return done(tensors, self._works)

    def recv(self, tensors, source, tag=0):
        key, answer = self._key(source, self._rank, tag), torch.futures.Future()
        store, until = self._store, time.monotonic() + self._timeout_s

        def receive():
            try:
                while not store.check([key]):  # A get() that waits would keep this rank's own messages back.
                    if time.monotonic() > until:
                        raise RuntimeError(f"headroom: recv: expected {_shapes(tensors)} from rank {source} within "
                                           f"{self._timeout_s:g} s, found nothing; see that it sends, or give "
                                           "init_process_group a longer timeout")
                    time.sleep(POLL_S)
                shapes, _, data = bytes(store.get(key)).partition(b"\n")
                store.delete_key(key)
                _unpack(shapes.decode(), data, tensors)
                answer.set_result(tensors)
            except Exception as error:
                answer.set_result(Failure(error))

        threading.Thread(target=receive, name="headroom-receive", daemon=True).start()
        return self._keep(Work(answer, self._works))

    def recv_anysource(self, tensors, tag=0):
        raise RuntimeError("headroom: recv: expected a rank to receive from, found none; name it, or run with "
                           "HEADROOM_RANKS_BACKEND=keep, which leaves the script's own backend")

    def _key(self, source, target, tag):
        edge = (source, target, tag)
        self._sent[edge] = self._sent.get(edge, 0) + 1
        return f"headroom/{source}-{target}-{tag}-{self._sent[edge]}"

    # The names of PyTorch's later versions.
    all_gather_single, reduce_scatter_single = _allgather_base, _reduce_scatter_base
    all_gather_single_coalesced, reduce_scatter_single_coalesced = allgather_into_tensor_coalesced, reduce_scatter_tensor_coalesced
    all_to_all_single = alltoall_base

    @property
    def group_name(self):
        """A group without parts for each device keeps none itself. torch.distributed asks also when it has forgotten the group."""
        return self._name

    def _get_backend(self, device):
        """The group is its own part for every device."""
        return self

    # What PyTorch asks of such a part.
    supports_splitting = supports_coalescing = supports_shrinking = supports_reconfigure = supports_window = False

    def getBackendName(self):  # noqa: N802 (PyTorch's name)
        return "headroom"

    def shutdown(self):
        """Leaves the job once all that was asked for is done, or soon: the others may not take part in it any more."""
        if self._thread.is_alive():
            self._asked.put(None)
            self._thread.join(_WAIT_AT_END_S)
        self._store = None  # Rank 0's is a server, whose port the next group may want.

    abort = shutdown


def _spread(rows, targets):
    """A target of another size is an error."""
    for target, row in zip(targets, rows):
        target.copy_(row.view(target.shape))


def _shapes(tensors):
    return ";".join(f"{one.dtype} {list(one.shape)}" for one in tensors)


def _unpack(shapes, data, tensors):
    found, expected = [one.split(" ")[0] for one in shapes.split(";")], [str(one.dtype) for one in tensors]
    size = sum(one.numel() * one.element_size() for one in tensors)
    if found != expected or size != len(data):
        raise RuntimeError(f"headroom: recv: expected {_shapes(tensors)}, found {shapes}; receive what the other rank sends")
    at, whole = 0, torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)
    for one in tensors:
        size = one.numel() * one.element_size()
        with torch.no_grad():
            one.copy_(whole[at:at + size].clone().view(one.dtype).view(one.shape))
        at += size


def _in_place(tensor, action):
    if tensor.is_contiguous():
        action(tensor.detach())
        return
    copy = tensor.detach().contiguous()
    action(copy)
    tensor.detach().copy_(copy)


def _file_name(name):
    return "".join(one if one.isalnum() and one.isascii() or one in "._-" else "-" for one in name)[-64:]


class _Doer:
    """Does what is asked for, one after another."""

    def __init__(self, exchange):
        self._exchange = exchange
        self._failure = None  # After it the ranks may have different values: nothing that follows could be trusted.

    def do(self, what, action, result, future, events, is_inference):
        with torch.no_grad(), _side_streams(events):
            if self._failure is None:
                try:
                    with torch.inference_mode(is_inference), torch.no_grad():
                        self._exchange.agree(repr(what))
                        action(self._exchange)
                except Exception as error:
                    self._failure = Failure(error)
            future.set_result(result if self._failure is None else self._failure)

    def end(self):
        self._exchange = None


def _serve(asked, averager, doer):
    while (one := asked.get()) is not None:
        doer.do(*one)
        del one
    doer.end()
    averager.close()


class _side_streams:  # noqa: N801 (used as a function)
    """Each device's work goes on a stream of its own, behind what the tensors wait for."""

    def __init__(self, events):
        self._events, self._entered = events, []

    def __enter__(self):
        for device, event in self._events:
            stream = torch.cuda.Stream(device)
            stream.wait_event(event)
            context = torch.cuda.stream(stream)
            context.__enter__()
            self._entered.append(context)

    def __exit__(self, *exception):
        for context in reversed(self._entered):
            context.__exit__(*exception)


def _stop(group):
    if (alive := group()) is not None:
        alive.shutdown()
