/**
 * Credentials as text: `lax_<prefix>_<secret>` for a stream's API key, `lap_<prefix>_<secret>` for
 * an access token, `las_<prefix>_<secret>` for the session of a browser, which only a cookie may
 * show. The prefix is public and finds the record; of the secret only a SHA-256 is kept.
 * A secret has 238 random bits, so a slow password hash would protect nothing more.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Principal, Stream, StreamId } from './stream.ts'

export const CREDENTIAL_KINDS = ['key', 'token', 'session'] as const
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number]

/** A credential as a client presents it. */
export interface Credential {
  readonly kind: CredentialKind
  readonly prefix: string
  readonly secret: string
}

/** A fresh credential: `text` is shown once, the rest is stored. */
export interface NewCredential {
  readonly text: string
  readonly prefix: string
  readonly secretSha256: Uint8Array
}

/** A live credential as the control store has it. */
export type StoredCredential = StoredKey | StoredToken | StoredSession

export interface StoredKey {
  readonly kind: 'key'
  readonly id: number
  readonly secretSha256: Uint8Array
  readonly stream: Stream
}

export interface StoredToken {
  readonly kind: 'token'
  readonly id: number
  readonly secretSha256: Uint8Array
  readonly principal: Principal
  readonly expiresAtMs: number | null
}

/** A browser that is signed in with a token: it may what the token may, and ends with it. */
export interface StoredSession {
  readonly kind: 'session'
  readonly id: number
  readonly secretSha256: Uint8Array
  readonly tokenPrefix: string
  /** Of the page that it was begun from, such as `https://logs.example.com`; else empty. */
  readonly origin: string
  readonly expiresAtMs: number
  readonly usedAtMs: number
}

/** A use of a credential, for its `last_used_at`. */
export interface CredentialUse {
  readonly kind: CredentialKind
  readonly id: number
  readonly atMs: number
}

/** What a change of the control plane was about: caches forget it. */
export type ControlChange =
  /** A stream with all its keys. */
  | { readonly kind: 'stream'; readonly streamId: StreamId }
  /** A key, token or session, made or ended. */
  | { readonly kind: 'credential'; readonly prefix: string }
  /** Nothing that is ever cached. */
  | { readonly kind: 'none' }

export const CREDENTIAL_CHARS = 4 + 8 + 1 + 40

const PREFIX_CHARS = 8
const SECRET_CHARS = 40
const LOWER = 'abcdefghijklmnopqrstuvwxyz0123456789'
const MIXED = `ABCDEFGHIJKLMNOPQRSTUVWXYZ${LOWER}`
const TAGS = { key: 'lax', token: 'lap', session: 'las' } as const satisfies Record<
  CredentialKind,
  string
>
const FORMAT = /^la([xps])_([a-z0-9]{8})_([A-Za-z0-9]{40})$/

export function createCredential(kind: CredentialKind): NewCredential {
  const prefix = randomText(LOWER, PREFIX_CHARS)
  const secret = randomText(MIXED, SECRET_CHARS)
  return { text: `${TAGS[kind]}_${prefix}_${secret}`, prefix, secretSha256: sha256(secret) }
}

/** The parts of a presented key or token, or undefined when its format is wrong. */
export function tryParseCredential(text: string): Credential | undefined {
  const credential = parse(text)
  return credential?.kind === 'session' ? undefined : credential
}

/** The same of the session that a cookie shows. */
export function tryParseSession(text: string): Credential | undefined {
  const credential = parse(text)
  return credential?.kind === 'session' ? credential : undefined
}

function parse(text: string): Credential | undefined {
  if (text.length !== CREDENTIAL_CHARS) return undefined
  const match = FORMAT.exec(text)
  if (match === null) return undefined
  return {
    kind: match[1] === 'x' ? 'key' : match[1] === 'p' ? 'token' : 'session',
    prefix: match[2] ?? '',
    secret: match[3] ?? '',
  }
}

/** One-shot, in half the time of a `Hash` object: ingest calls it for every request. */
export function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

/** Uniformly random: bytes past the largest multiple of the alphabet's size are dropped. */
function randomText(alphabet: string, chars: number): string {
  const limit = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < chars) {
    for (const byte of randomBytes(chars)) {
      if (byte < limit && text.length < chars) text += alphabet[byte % alphabet.length]
    }
  }
  return text
}
