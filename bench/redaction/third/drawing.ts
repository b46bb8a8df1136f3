/**
 * How the third set makes its secrets: from pieces, with a seeded random, so that no file holds
 * anything that looks like a live one.
 */
import type { Random } from '../../random.ts'

export interface Secret {
  readonly text: string
  /** What must not be left of it, not even in part. */
  readonly cores: readonly string[]
}

export type DrawSecret = (random: Random) => Secret

const DIGITS = '0123456789'
const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()

/** What a letter in a pattern's braces stands for. */
const ALPHABETS: Readonly<Record<string, string>> = {
  a: LOWER + UPPER + DIGITS,
  b: `${LOWER}${UPPER}${DIGITS}+/`,
  u: `${LOWER}${UPPER}${DIGITS}-_`,
  l: LOWER + DIGITS,
  L: LOWER + UPPER,
  U: UPPER + DIGITS,
  B: `${UPPER}234567`,
  d: DIGITS,
  x: `${DIGITS}abcdef`,
  X: `${DIGITS}ABCDEF`,
  // Bech32, as age writes its keys.
  q: 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L',
}

export function drawFrom(random: Random, alphabet: string, length: number): string {
  let text = ''
  while (text.length < length) text += alphabet[random.below(alphabet.length)]
  return text
}

function drawUuid(random: Random): string {
  const hex = random.hex(30)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(12, 15)}`,
    `a${hex.slice(15, 18)}`,
    hex.slice(18),
  ].join('-')
}

/**
 * `npm_{a36}`: what stands in braces is drawn (`{g}` is a UUID), the rest stands for itself. The
 * longest piece drawn is the core.
 */
export function drawPattern(random: Random, pattern: string): Secret {
  let core = ''
  const text = pattern.replace(/\{([a-zA-Z])(\d*)\}/g, (_, kind: string, length: string) => {
    const piece = kind === 'g' ? drawUuid(random) : drawPiece(random, kind, Number(length))
    if (piece.length > core.length) core = piece
    return piece
  })
  return { text, cores: [core] }
}

function drawPiece(random: Random, kind: string, length: number): string {
  const alphabet = ALPHABETS[kind]
  if (alphabet === undefined) throw new Error(`no alphabet is called ${kind}`)
  return drawFrom(random, alphabet, length)
}

export function pattern(...patterns: readonly string[]): DrawSecret {
  return (random) => drawPattern(random, random.pick(patterns))
}

function whole(text: string): Secret {
  return { text, cores: [text] }
}

const WORDS = [
  'Winter',
  'Copper',
  'Falcon',
  'Marble',
  'Harbor',
  'Quartz',
  'Saffron',
  'Tundra',
  'Velvet',
  'Walnut',
  'Zephyr',
  'Orchid',
]

/** As people and generators choose them; nothing that a URL or a shell would have to escape. */
export function drawPassword(random: Random): Secret {
  const word = () => random.pick(WORDS)
  switch (random.below(4)) {
    case 0:
      return whole(`${word()}${word()}${1000 + random.below(9000)}!`)
    case 1:
      return whole(`${word().toLowerCase()}-${word().toLowerCase()}-${random.hex(4)}`)
    case 2:
      return whole(drawPattern(random, '{a16}').text)
    default:
      return whole(drawPattern(random, '{L5}{d2}_{a6}.{L4}').text)
  }
}

/** With characters that make trouble for parsers of text; none that JSON escapes. */
export function drawHardPassword(random: Random): Secret {
  return whole(drawPattern(random, '{a5}#{a4}!{L2}*{d3}%{a3}').text)
}

export const drawToken = pattern('{a32}', '{u43}', '{x40}', '{a24}{d6}{a12}', '{x64}')
export const drawKey = pattern('{x32}', '{b43}=', '{a40}', '{b40}', '{u48}')
export const drawSessionId = pattern('{l26}', '{X32}', '{l32}', '{a40}')

export function drawPin(random: Random): Secret {
  return whole(String(100_000 + random.below(900_000)))
}

/** Luhn-valid, in a range that test cards use. */
export function drawCard(random: Random): Secret {
  const body = `4${drawFrom(random, DIGITS, 14)}`
  let sum = 0
  for (const [i, digit] of [...body].entries()) {
    const doubled = Number(digit) * (i % 2 === 0 ? 2 : 1)
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return whole(body + String((10 - (sum % 10)) % 10))
}

export function drawSsn(random: Random): Secret {
  const part = (from: number, end: number) => String(from + random.below(end - from))
  return whole(`${part(100, 700)}-${part(10, 99)}-${part(1000, 9999)}`)
}

/** `user:password` as the scheme `Basic` sends it. */
export function drawBasic(random: Random): Secret {
  const user = random.pick(['admin', 'svc-deploy', 'ci@acme.example', 'nagios', 'api'])
  return whole(Buffer.from(`${user}:${drawPassword(random).text}`).toString('base64'))
}

function base64Json(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

const JWT_HEADERS = [
  { alg: 'HS256', typ: 'JWT' },
  { alg: 'RS256', typ: 'JWT', kid: 'sig-2024-09' },
  { typ: 'JWT', alg: 'ES256' },
]

export function drawJwt(random: Random): Secret {
  const header = random.pick(JWT_HEADERS)
  const claims = base64Json({
    iss: 'https://login.acme.example/',
    sub: `user-${random.below(1e6)}`,
    aud: 'orders-api',
    exp: 1_700_000_000 + random.below(1e8),
  })
  const signature = drawPattern(random, header.alg === 'RS256' ? '{u342}' : '{u43}').text
  return { text: `${base64Json(header)}.${claims}.${signature}`, cores: [claims, signature] }
}

const PEM_KINDS = ['RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED ', '']

function drawPemLines(random: Random): { lines: string[]; cores: string[] } {
  const label = `${random.pick(PEM_KINDS)}PRIVATE KEY`
  const cores = Array.from({ length: 4 + random.below(8) }, () => drawPattern(random, '{b64}').text)
  const head = `-----BEGIN ${label}-----`
  return { lines: [head, ...cores, `-----END ${label}-----`], cores }
}

/** A private key whose lines are joined by `separator`. */
export function pem(separator: string): DrawSecret {
  return (random) => {
    const { lines, cores } = drawPemLines(random)
    return { text: lines.join(separator), cores }
  }
}

/** A private key that a limit of length has cut. */
export function drawCutPem(random: Random): Secret {
  const { lines, cores } = drawPemLines(random)
  return { text: lines.slice(0, -1).join('\n'), cores }
}

export function drawBase64Pem(random: Random): Secret {
  const { text } = pem('\n')(random)
  return whole(Buffer.from(`${text}\n`).toString('base64'))
}
