"""Events a second of ``queue_waits`` against the same queue written plainly in SimPy."""

import sys

import numpy as np
import simpy
from compared import medians

from costlib.simulation import queue_waits
from costlib.units import Quantity

TARGET = 1.5
REPEATS = 7
CALLS, SERVERS, UTILISATION = 20_000, 4, 0.8
EVENTS = 4 * CALLS  # a call arrives, is given a server, ends its service, and leaves

random = np.random.default_rng(0)
arrivals = np.cumsum(random.exponential(1 / (UTILISATION * SERVERS), CALLS))
services = random.exponential(1, CALLS)
ARRIVALS, SERVICES = Quantity(arrivals, "second"), Quantity(services, "second")


def plain():
    """As the manual of SimPy has it."""
    env = simpy.Environment()
    servers = simpy.Resource(env, SERVERS)
    waits = []

    def customer(service):
        arrived = env.now
        with servers.request() as request:
            yield request
            waits.append(env.now - arrived)
            yield env.timeout(service)

    def source():
        before = 0.0
        for arrival, service in zip(arrivals.tolist(), services.tolist(), strict=True):
            yield env.timeout(arrival - before)
            before = arrival
            env.process(customer(service))

    env.process(source())
    env.run()
    return waits


def with_units():
    return queue_waits(ARRIVALS, SERVICES, SERVERS).m_as("second")


def main():
    assert np.allclose(with_units(), plain(), atol=1e-6)
    ours, peer = medians(with_units, plain, repeats=REPEATS)
    print(f"costlib {EVENTS / ours:9,.0f} events a second")
    print(f"SimPy   {EVENTS / peer:9,.0f} events a second")
    ratio = ours / peer
    print(f"time of {EVENTS:,} events, costlib over SimPy: {ratio:.2f}  (target: at most {TARGET})")
    return ratio > TARGET


if __name__ == "__main__":
    sys.exit(main())
