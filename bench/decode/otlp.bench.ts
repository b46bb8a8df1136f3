import { OtlpJsonDecoder } from '../../workers/decode/otlp/otlp-json.ts'
import { OtlpDecoder } from '../../workers/decode/otlp/otlp-protobuf.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { EventBuffer } from '../../workers/tape/event-buffer.ts'
import { JsonTape } from '../../workers/tape/json-tape.ts'
import { PathTrie } from '../../workers/tape/path-trie.ts'
import type { MicroBench } from '../bench.ts'
import { type OtlpBody, otlpProtobuf, otlpRequest, otlpRequestType } from '../otlp-request.ts'
import { padBody } from './tape-batch.ts'

type Encoding = 'protobuf' | 'json'

/** In shared memory, as in the service. */
function decodeAll(encoding: Encoding, body: OtlpBody): MicroBench['prepare'] {
  return ({ lines }) => {
    const request =
      encoding === 'protobuf'
        ? otlpProtobuf(lines, body)
        : Buffer.from(JSON.stringify(otlpRequest(lines, body)))
    const padded = padBody(request)
    const bytes = new Uint8Array(new SharedArrayBuffer(padded.length))
    bytes.set(padded)
    const tape = new JsonTape(new PathTrie())
    const events = new DecodedEvents()
    const into = new EventBuffer()
    const protobufDecoder = new OtlpDecoder(tape, events, into)
    const decoder = encoding === 'protobuf' ? protobufDecoder : new OtlpJsonDecoder(protobufDecoder)
    return () => {
      events.reset()
      into.reset()
      tape.begin(into.bytes)
      const { accepted } = decoder.decode(tape.batch.hold(bytes), { start: 0, end: request.length })
      if (accepted !== lines.length) throw new Error(`${accepted} events came out`)
    }
  }
}

/** From the wire to event JSON and tape. */
export const otlpKvlist: MicroBench = {
  name: 'decode/otlp-kvlist',
  title: 'OTLP protobuf, kvlist bodies: JSON + tape',
  kind: 'json',
  prepare: decodeAll('protobuf', 'kvlist'),
}

export const otlpWrapped: MicroBench = {
  name: 'decode/otlp-wrapped',
  title: 'OTLP protobuf, text bodies, 21 attributes',
  kind: 'json',
  prepare: decodeAll('protobuf', 'text'),
}

export const otlpJson: MicroBench = {
  name: 'decode/otlp-json',
  title: 'OTLP JSON, kvlist bodies: JSON + tape',
  kind: 'json',
  prepare: decodeAll('json', 'kvlist'),
}

/** What message objects cost, before anything is made of them. */
export const otlpProtobufjs: MicroBench = {
  name: 'decode/otlp-protobufjs',
  title: 'protobufjs, message objects only',
  kind: 'json',
  prepare: ({ lines }) => {
    const request = otlpProtobuf(lines, 'kvlist')
    return () => otlpRequestType.decode(request)
  },
}
