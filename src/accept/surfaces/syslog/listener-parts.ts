/** What listeners of every transport work with. */
import type { IngestError } from '../../../errors.ts'
import type { SyslogAddress } from '../../../syslog-address.ts'
import type { DropTeller } from './drop-teller.ts'
import type { SyslogCounts } from './syslog-counts.ts'
import type { QueueParts } from './syslog-queue.ts'
import { SyslogQueue } from './syslog-queue.ts'

export interface ListenerParts {
  readonly address: SyslogAddress
  readonly counts: SyslogCounts
  readonly teller: DropTeller
  readonly queue: Pick<QueueParts, 'deps' | 'sender'>
  /** How long a stop may wait for commits. */
  readonly drainMs: number
  /** Of a handshake of TLS; called for each. */
  readonly onHandshakeFailed: (cause: Error) => void
  /** It is closed for good: its stream is deleted. */
  readonly onGone: () => void
}

export interface Listener {
  /** Resolves with the port; rejects with node's error when it cannot be listened on. */
  listen(): Promise<number>
  /** Takes nothing new, and commits what it took. */
  stop(): Promise<void>
  readonly waitingBytes: number
  readonly receiveBufferBytes: number | undefined
}

/** `onGone`: the stream is deleted, so the listener has no purpose any more. */
export function createQueue(
  { address, counts, teller, queue }: ListenerParts,
  on: { readonly onRoom: () => void; readonly onGone: () => void },
): SyslogQueue {
  return new SyslogQueue({
    ...queue,
    options: { timeZone: address.timeZone },
    onRoom: on.onRoom,
    onDropped: (messages, error: IngestError) => {
      counts.dropped.add('refused', messages)
      teller.log(error, messages)
      if (error.code === 'not_found') on.onGone()
    },
  })
}
