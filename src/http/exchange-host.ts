import type { Engine } from './engine.ts'
import type { Exchange } from './exchange.ts'
import type { InFlight } from './in-flight.ts'

/** What all exchanges of a server share. */
export interface ExchangeHost {
  readonly engine: Engine
  /** Counts sweeps: the clock of everything coarse, so that no chunk needs to ask for the time. */
  readonly tick: number
  readonly bodyIdleTicksMax: number
  readonly lingerTicksMax: number
  readonly lingerBytesMax: number
  /** True once the server stops: replies then close their connections. */
  readonly stopping: boolean
  activeRequests: number
  /** What counts large replies that bring no room of their own. */
  readonly replyRoom: InFlight
  /** Exchanges whose body, or large or streamed reply, has not ended; the sweep visits them. */
  readonly reading: Set<SweptExchange>
  /** Sends the held reply after the current turn, unless the body ends in it. */
  sendHeldSoon(exchange: HeldExchange): void
  onError(error: unknown, exchange: Exchange): void
}

/** One that waits for its client. */
export interface SweptExchange {
  sweep(): void
  tellStopping(): void
}

/** One whose reply is held. */
export interface HeldExchange {
  sendHeld(): void
}
