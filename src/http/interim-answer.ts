/**
 * "100 Continue", which a client may wait for before it sends a body (RFC 9110, 10.1.1).
 *
 * Native engines send it by themselves, but only for an expectation in small letters. They write
 * one status line a request, so where the interim answer takes that, the final status line is
 * written as the beginning of a header's name.
 */
import type { EngineResponse } from './engine.ts'

/** Members are separated by commas, and compared in any case of letters. */
const CONTINUE = /(?:^|,)[ \t]*100-continue[ \t]*(?:,|$)/i
/** What native engines answer. */
const ANSWERED = '100-continue'

/** Whether a client that sends `value` as `Expect` waits, and a native engine does not answer. */
export function awaitsContinue(value: string): boolean {
  return value !== ANSWERED && CONTINUE.test(value)
}

/** Sends the interim answer on a native engine; returns the response to go on with. */
export function sendContinue(response: EngineResponse): EngineResponse {
  response.writeStatus('100 Continue\r\n')
  return new ContinuedResponse(response)
}

/** A response whose engine believes that its status was written already. */
class ContinuedResponse implements EngineResponse {
  readonly #inner: EngineResponse

  constructor(inner: EngineResponse) {
    this.#inner = inner
  }

  /** A whole message (`Engine.writeRaw`) ends as a name does, with what its client ignores. */
  writeStatus(status: string | Uint8Array): unknown {
    if (typeof status !== 'string') {
      const message = Buffer.concat([Buffer.from('HTTP/1.1 '), status])
      return this.#inner.writeHeader(message, '')
    }
    // True of every answer, and of no consequence.
    return this.#inner.writeHeader(`HTTP/1.1 ${status}\r\nAccept-Ranges`, 'none')
  }

  writeHeader(name: string | Uint8Array, value: string): unknown {
    return this.#inner.writeHeader(name, value)
  }

  end(body: string | Uint8Array, closeConnection: boolean): unknown {
    return this.#inner.end(body, closeConnection)
  }

  write(bytes: Uint8Array): boolean {
    return this.#inner.write(bytes)
  }

  tryEnd(rest: Uint8Array, totalBytes: number): readonly [isTaken: boolean, isDone: boolean] {
    return this.#inner.tryEnd(rest, totalBytes)
  }

  onWritable(handler: (offset: number) => boolean): unknown {
    return this.#inner.onWritable(handler)
  }

  endWithoutBody(): unknown {
    return this.#inner.endWithoutBody()
  }

  close(): unknown {
    return this.#inner.close()
  }

  cork(write: () => void): unknown {
    return this.#inner.cork(write)
  }

  onAborted(handler: () => void): unknown {
    return this.#inner.onAborted(handler)
  }

  onData(handler: (chunk: ArrayBuffer | Uint8Array, isLast: boolean) => void): unknown {
    return this.#inner.onData(handler)
  }

  pause(): unknown {
    return this.#inner.pause()
  }

  resume(): unknown {
    return this.#inner.resume()
  }
}
