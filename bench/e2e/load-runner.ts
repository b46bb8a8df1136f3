/**
 * Runs the load and counts what came of it.
 *
 * Without a rate each connection sends its next request when the last is answered. With one,
 * requests fall due at fixed times and latency counts from then: a service that stalls cannot hide
 * the requests it kept from being sent.
 */

import { Latencies } from './latencies.ts'
import type { LoadConfig, LoadResult } from './load-config.ts'
import { type Connection, LoadConnection, type LoadRequest } from './load-connection.ts'
import type { HttpResponse } from './response-parser.ts'
import { findSurface } from './surfaces/all.ts'
import { GrpcConnection } from './surfaces/grpc-connection.ts'
import type { Surface } from './surfaces/surface.ts'

const RETRY_AFTER_MS_MAX = 2_000
const PACE_MS = 1
/** How long answers are waited for after the last request was sent. */
const DRAIN_MS_MAX = 60_000
/** A service that refuses the very protocol is not worth a whole run. */
const FAILURES_MAX = 1_000

export class LoadRunner {
  readonly #config: LoadConfig
  readonly #requests: readonly LoadRequest[]
  readonly #surface: Surface
  readonly #connections: Connection[] = []
  readonly #idle: Connection[] = []
  readonly #acknowledge = new Latencies()
  readonly #refuse = new Latencies()
  readonly #failures: Record<string, number> = {}
  #firstFailure: string | undefined
  #firstLost: string | undefined
  #nextRequest = 0
  #startedAtMs = 0
  #endedAtMs = 0
  #answered = 0
  #acknowledgedEvents = 0
  #rejectedEvents = 0
  #inFlightEvents = 0
  #inFlightRequests = 0
  #refusals = 0
  #failureCount = 0
  #lost = 0
  #sentOnSchedule = 0
  #isSending = false
  #finish: () => void = () => {}

  constructor(config: LoadConfig, requests: readonly LoadRequest[]) {
    this.#config = config
    this.#requests = requests
    this.#surface = findSurface(config.surface)
  }

  /** Opens every connection; resolves when all of them stand. */
  async connect(): Promise<void> {
    const { host, port, connections } = this.#config
    const Kind = this.#surface.isGrpc ? GrpcConnection : LoadConnection
    await new Promise<void>((resolve) => {
      const idle = (connection: Connection) => {
        this.#onIdle(connection)
        if (this.#startedAtMs === 0 && this.#idle.length === connections) resolve()
      }
      const response = this.#onResponse.bind(this)
      const lost = this.#onLost.bind(this)
      for (let i = 0; i < connections; i++) {
        const connection = new Kind({ host, port }, { idle, response, lost })
        this.#connections.push(connection)
        connection.open()
      }
    })
  }

  async run(): Promise<LoadResult> {
    const { rate, secondsMax } = this.#config
    const cpu = process.cpuUsage()
    this.#startedAtMs = performance.now()
    this.#isSending = true
    const finished = new Promise<void>((resolve) => {
      this.#finish = resolve
    })
    const deadline = setTimeout(
      () => this.#stopSending(),
      Math.min(secondsMax * 1_000, 2 ** 31 - 1),
    )
    const pacer = rate > 0 ? setInterval(() => this.#sendDue(), PACE_MS) : undefined
    if (rate === 0) for (const connection of this.#idle.splice(0)) this.#sendNext(connection)
    await finished
    clearTimeout(deadline)
    clearInterval(pacer)
    const used = process.cpuUsage(cpu)
    for (const connection of this.#connections) connection.close()
    return this.#result(used.user + used.system)
  }

  #onIdle(connection: Connection): void {
    if (this.#isSending && this.#config.rate === 0) this.#sendNext(connection)
    else this.#idle.push(connection)
  }

  #sendNext(connection: Connection): void {
    if (this.#acknowledgedEvents + this.#inFlightEvents >= this.#config.eventsMax) {
      this.#idle.push(connection)
      this.#stopSending()
      return
    }
    this.#send(connection, performance.now())
  }

  /** Sends what has fallen due, as far as there are idle connections. */
  #sendDue(): void {
    const msPerRequest = (this.#config.eventsPerRequest * 1_000) / this.#config.rate
    while (this.#isSending && this.#idle.length > 0) {
      const dueAtMs = this.#startedAtMs + this.#sentOnSchedule * msPerRequest
      if (dueAtMs > performance.now()) return
      if (this.#acknowledgedEvents + this.#inFlightEvents >= this.#config.eventsMax) {
        this.#stopSending()
        return
      }
      this.#sentOnSchedule++
      this.#send(this.#idle.shift()!, dueAtMs)
    }
  }

  #send(connection: Connection, atMs: number): void {
    const request = this.#requests[this.#nextRequest]!
    this.#nextRequest = (this.#nextRequest + 1) % this.#requests.length
    this.#inFlightEvents += request.events
    this.#inFlightRequests++
    this.#surface.refresh?.(request.bytes)
    connection.send(request, atMs)
  }

  #onResponse(connection: Connection, response: HttpResponse): void {
    const { events } = connection.request!
    const nowMs = performance.now()
    this.#settle(events)
    this.#answered++
    const { status } = response
    if (status >= 200 && status < 300) {
      const accepted = this.#surface.countAccepted(response.body, events)
      this.#acknowledgedEvents += accepted
      this.#rejectedEvents += events - accepted
      this.#acknowledge.add(nowMs - connection.sentAtMs)
      this.#endedAtMs = nowMs
    } else if (status === 429 || status === 503) {
      this.#refusals++
      this.#refuse.add(nowMs - connection.sentAtMs)
      this.#backOff(connection, response.retryAfterSeconds)
    } else {
      this.#failures[status] = (this.#failures[status] ?? 0) + 1
      this.#firstFailure ??= response.body.slice(0, 500)
      if (++this.#failureCount >= FAILURES_MAX) this.#stopSending()
    }
    if (!this.#isSending && this.#inFlightRequests === 0) this.#finish()
  }

  #onLost(connection: Connection, reason: string): void {
    const idleIndex = this.#idle.indexOf(connection)
    if (idleIndex >= 0) this.#idle.splice(idleIndex, 1)
    if (connection.request === undefined) return
    this.#settle(connection.request.events)
    this.#lost++
    this.#firstLost ??= reason
    if (!this.#isSending && this.#inFlightRequests === 0) this.#finish()
  }

  #settle(events: number): void {
    this.#inFlightEvents -= events
    this.#inFlightRequests--
  }

  /** A refused client waits as it was told, within reason. */
  #backOff(connection: Connection, retryAfterSeconds = 0): void {
    connection.pauseMs = Math.min(retryAfterSeconds * 1_000, RETRY_AFTER_MS_MAX)
  }

  #stopSending(): void {
    if (!this.#isSending) return
    this.#isSending = false
    if (this.#inFlightRequests === 0) this.#finish()
    else setTimeout(() => this.#finish(), DRAIN_MS_MAX).unref()
  }

  #result(clientCpuMicros: number): LoadResult {
    const bodyBytes = this.#requests.reduce((sum, { bytes }) => sum + bytes.length, 0)
    const bodyEvents = this.#requests.reduce((sum, { events }) => sum + events, 0)
    return {
      seconds: Math.max(0, this.#endedAtMs - this.#startedAtMs) / 1_000,
      requests: this.#answered,
      acknowledgedEvents: this.#acknowledgedEvents,
      rejectedEvents: this.#rejectedEvents,
      refusals: this.#refusals,
      failures: this.#failures,
      firstFailure: this.#firstFailure,
      lostRequests: this.#lost,
      firstLost: this.#firstLost,
      unansweredRequests: this.#inFlightRequests,
      acknowledge: this.#acknowledge.percentiles(),
      refuse: this.#refuse.percentiles(),
      clientCpuMicros,
      bodyBytesPerEvent: bodyBytes / bodyEvents,
    }
  }
}
