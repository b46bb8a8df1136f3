/** Loki's decoders as a worker has them, and its protobuf as clients write it. */
import { readFileSync } from 'node:fs'
import protobuf from 'protobufjs'
import snappy from 'snappyjs'
import { lokiJsonDecoder, lokiProtobufDecoder } from '../../../workers/decode/loki/loki-decoders.ts'
import { decodeGenerated, type GeneratedEvents, target } from '../generated-events.ts'

export type LokiFraming = 'loki-json' | 'loki-protobuf'

const decoders = {
  'loki-json': lokiJsonDecoder.create(target),
  'loki-protobuf': lokiProtobufDecoder.create(target),
}
const settings = { parseUserAgents: false, redactSensitive: false, redactFields: [] }

/** Decodes a whole request. */
export function decodeLoki(framing: LokiFraming, body: string | Uint8Array): GeneratedEvents {
  const bytes = Buffer.from(body)
  const part = { framing, start: 0, end: bytes.length }
  return decodeGenerated(bytes, bytes.length, (held) => {
    return decoders[framing](held, part, { settings, receivedAtMs: 0, items: undefined })
  })
}

export interface PushedEntry {
  readonly timestamp?: { readonly seconds?: number | bigint; readonly nanos?: number } | undefined
  readonly line?: string | Uint8Array
  readonly structuredMetadata?: readonly {
    readonly name: string | Uint8Array
    readonly value: string | Uint8Array
  }[]
}

export interface PushedStream {
  readonly labels?: string | Uint8Array
  readonly entries: readonly PushedEntry[]
}

const PROTO = readFileSync(new URL('../../../../proto/loki-push.proto', import.meta.url), 'utf8')
/** Strings as bytes, as some senders' are not UTF-8. */
const PushRequest = protobuf
  .parse(PROTO.replaceAll(/\bstring (?=\w+ = )/g, 'bytes '))
  .root.lookupType('sluice.loki.PushRequest')

/** A request in protobuf, not compressed. */
export function encodePush(streams: readonly PushedStream[]): Buffer {
  const bytes = (text: string | Uint8Array = '') => Buffer.from(text as string)
  const message = {
    streams: streams.map(({ labels, entries }) => ({
      labels: bytes(labels),
      entries: entries.map(({ timestamp, line, structuredMetadata = [] }) => ({
        timestamp: timestamp && {
          seconds: String(timestamp.seconds ?? 0),
          nanos: timestamp.nanos,
        },
        line: bytes(line),
        structuredMetadata: structuredMetadata.map(({ name, value }) => {
          return { name: bytes(name), value: bytes(value) }
        }),
      })),
    })),
  }
  return Buffer.from(PushRequest.encode(PushRequest.fromObject(message)).finish())
}

/** The same as it is sent. */
export function encodePushed(streams: readonly PushedStream[]): Buffer {
  return Buffer.from(snappy.compress(encodePush(streams)))
}
