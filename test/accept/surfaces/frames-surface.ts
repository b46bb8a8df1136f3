/**
 * A surface for tests: frames over TCP, each a length of four bytes and a text, which becomes
 * `{"message"}`. A sender that closes its half is answered with one line. It has all that a surface
 * without HTTP needs, and nothing outside this file names it.
 */
import { createServer, type Socket } from 'node:net'
import type { Dialect, Responder, Sender } from '../../../src/accept/dialect.ts'
import { type BodyFormat, plainFormat } from '../../../src/accept/framing/body-format.ts'
import type { Cutter } from '../../../src/accept/framing/cutters.ts'
import { ingest } from '../../../src/accept/request/ingest.ts'
import type { Surface } from '../../../src/accept/surfaces/surface.ts'
import { IngestError } from '../../../src/errors.ts'
import { EventBuilder } from '../../../workers/build/event-builder.ts'
import type { Decoder } from '../../../workers/decode/decoder.ts'
import { TOO_LARGE_MESSAGE } from '../../../workers/decode/ndjson.ts'
import { PartOutcome } from '../../../workers/decode/part-outcome.ts'
import { viewOf } from '../../../workers/tape/event-buffer.ts'
import { ROOT } from '../../../workers/tape/path-trie.ts'

const LENGTH_BYTES = 4
const MESSAGE = Buffer.from('message')

/** Listens on `port`; whoever connects is `sender`. */
export function framesSurface(sender: Sender, listening: (port: number) => void): Surface {
  return async ({ deps }) => {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      ingest(deps, {
        dialect: DIALECT,
        responder: responderOf(socket),
        sender,
        body: {
          readBody: (consumer) => {
            socket.on('data', (bytes) => consumer.chunk(Buffer.from(bytes), false))
            socket.on('end', () => consumer.chunk(Buffer.alloc(0), true))
            socket.on('error', () => consumer.aborted())
          },
          pause: () => socket.pause(),
          resume: () => socket.resume(),
        },
        contentLength: Number.NaN,
        contentEncoding: '',
        idempotencyKey: undefined,
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    if (typeof address === 'object' && address !== null) listening(address.port)
    return { routes: [], stop: () => new Promise((resolve) => server.close(resolve)) }
  }
}

const DIALECT: Dialect = {
  surface: 'frames',
  replyFormat: 'frames',
  plan: () => ({ format: FRAMES_BODY }),
  judge: ({ accepted }) => {
    return accepted > 0 ? undefined : new IngestError('malformed', 'there is no whole frame')
  },
  answer: ({ accepted, rejected }) => `stored ${accepted}, rejected ${rejected}\n`,
}

function responderOf(socket: Socket): Responder {
  return {
    accept: (answer) => {
      socket.end(answer)
      return 200
    },
    refuse: (error) => {
      socket.end(`refused: ${error.message}\n`)
      return 400
    },
    drop: () => socket.destroy(),
  }
}

/** Behind the last whole frame. */
class FrameCutter implements Cutter {
  #at = 0

  cut(bytes: Uint8Array, length: number): number {
    for (;;) {
      const end = frameEnd(bytes, this.#at, length)
      if (end > length) return this.#at > 0 ? this.#at : -1
      this.#at = end
    }
  }

  reset(): void {
    this.#at = 0
  }
}

const FRAMES_BODY: BodyFormat = plainFormat('frames', 'binary', () => new FrameCutter())

function frameEnd(bytes: Uint8Array, start: number, length: number): number {
  if (start + LENGTH_BYTES > length) return Number.POSITIVE_INFINITY
  return start + LENGTH_BYTES + viewOf(bytes).getUint32(start)
}

/** For the worker's table of decoders. */
export const framesDecoder: readonly [framing: string, decoder: Decoder] = [
  'frames',
  {
    input: 'binary',
    create: ({ tape, events, generated }) => {
      const builder = new EventBuilder(tape, generated)
      return (bytes, { start, end }) => {
        const outcome = new PartOutcome()
        const source = { bytes, view: viewOf(bytes) }
        builder.begin()
        builder.repairs = true // What is binary was not judged as UTF-8 before.
        const [message] = builder.knownNodes(ROOT, [MESSAGE]) as [number]
        for (let at = start; at < end; ) {
          const frame = frameEnd(bytes, at, end)
          if (frame > end) {
            outcome.reject(0, 'malformed', 'the frame is cut short')
            break
          }
          builder.beginEvent()
          builder.openObject()
          builder.knownKey(message, true)
          const isWritten = builder.string(message, source, at + LENGTH_BYTES, frame)
          builder.closeRoot()
          const eventStart = isWritten ? builder.endEvent() : -1
          if (eventStart >= 0) {
            events.add(eventStart, builder.at - 1, tape.length)
            outcome.accept(frame - at)
            if (builder.isRepaired) outcome.repaired++
          } else {
            builder.dropEvent()
            outcome.reject(0, 'too_large', TOO_LARGE_MESSAGE)
          }
          at = frame
        }
        builder.end()
        return outcome
      }
    },
  },
]
