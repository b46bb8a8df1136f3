/**
 * Draws secrets and look-alikes from patterns, with a seeded random: no file holds anything that
 * looks like a live secret. A pattern stands for itself, except for:
 *
 * - `{a36}`: 36 characters of the alphabet `a`; `{a24|99}`: 24 or 99; `{g}`: a UUID;
 * - `{=p|o}`: one of them;
 * - `{@jwt}`, `{@pem \n}`: what `MAKERS` calls so, with what stands behind the blank;
 * - `«…»`, `‹…›`: base64 and base64url of the pattern within.
 */
import type { Random } from '../random.ts'

export interface Secret {
  readonly text: string
  /** What must not be left of it, not even in part. */
  readonly cores: readonly string[]
}

/** A pattern, or several of which one is picked. */
export type Patterns = string | readonly string[]

const DIGITS = '0123456789'
const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()
const ALNUM = LOWER + UPPER + DIGITS

const ALPHABETS: Readonly<Record<string, string>> = {
  a: ALNUM,
  b: `${ALNUM}+/`,
  u: `${ALNUM}-_`,
  l: LOWER + DIGITS,
  L: LOWER + UPPER,
  U: UPPER + DIGITS,
  d: DIGITS,
  x: `${DIGITS}abcdef`,
  X: `${DIGITS}ABCDEF`,
  // Base32, its lower case, Crockford's, Bech32 as age writes it, and Base58.
  B: `${UPPER}234567`,
  w: `${LOWER}234567`,
  c: '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
  q: 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L',
  k: '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz',
  /** The last sextet of 64 bytes. */
  p: 'AQgw',
}

const PIECE = /«([^»]*)»|‹([^›]*)›|\{([a-zA-Z])([\d|]*)\}|\{=([^}]*)\}|\{@([a-z-]+)(?: ([^}]*))?\}/g

/** The cores are those of what was made, else the longest piece that was drawn. */
export function draw(random: Random, patterns: Patterns): Secret {
  const pattern = typeof patterns === 'string' ? patterns : random.pick(patterns)
  let longest = ''
  const made: string[] = []
  const text = pattern.replace(
    PIECE,
    (_, base64, base64url, letter, lengths, words, name, rest) => {
      if (words !== undefined) return random.pick(words.split('|'))
      if (name !== undefined) {
        const secret = MAKERS[name]!(random, rest ?? '')
        made.push(...secret.cores)
        return secret.text
      }
      const piece =
        letter === undefined
          ? encode(random, base64, base64url)
          : drawPiece(random, letter, lengths)
      if (piece.length > longest.length) longest = piece
      return piece
    },
  )
  return { text, cores: made.length > 0 ? made : [longest] }
}

export function drawText(random: Random, patterns: Patterns): string {
  return draw(random, patterns).text
}

function encode(random: Random, base64: string | undefined, base64url: string): string {
  const inner = Buffer.from(drawText(random, base64 ?? base64url))
  return inner.toString(base64 === undefined ? 'base64url' : 'base64')
}

function drawPiece(random: Random, letter: string, lengths: string): string {
  if (letter === 'g') return drawUuid(random)
  const length = Number(lengths.includes('|') ? random.pick(lengths.split('|')) : lengths)
  if (letter === 'h') return random.hex(length)
  const alphabet = ALPHABETS[letter]
  if (alphabet === undefined) throw new Error(`no alphabet is called ${letter}`)
  return drawFrom(random, alphabet, length)
}

function drawFrom(random: Random, alphabet: string, length: number): string {
  let text = ''
  while (text.length < length) text += alphabet[random.below(alphabet.length)]
  return text
}

function drawUuid(random: Random): string {
  const hex = random.hex(30)
  const starts = [0, 8, 12, 15, 18, 30]
  const parts = starts.slice(1).map((end, i) => hex.slice(starts[i], end))
  return `${parts[0]}-${parts[1]}-4${parts[2]}-a${parts[3]}-${parts[4]}`
}

function whole(text: string): Secret {
  return { text, cores: [text] }
}

const WORDS =
  'Winter Copper Falcon Marble Harbor Quartz Saffron Tundra Velvet Walnut Zephyr Orchid'.split(' ')

/** As people and generators choose them; nothing that a URL or a shell would have to escape. */
function drawPassword(random: Random): Secret {
  const word = () => random.pick(WORDS)
  switch (random.below(4)) {
    case 0:
      return whole(`${word()}${word()}${1000 + random.below(9000)}!`)
    case 1:
      return whole(`${word().toLowerCase()}-${word().toLowerCase()}-${random.hex(4)}`)
    case 2:
      return whole(drawText(random, '{a16}'))
    default:
      return whole(drawText(random, '{L5}{d2}_{a6}.{L4}'))
  }
}

/** With characters that a URL allows, and ends in a digit. */
function drawUrlPassword(random: Random): Secret {
  const alphabets = [ALNUM, `${ALNUM}-_`, `${ALNUM}!$&*+,;=~.-_`, LOWER]
  const head = drawFrom(random, LOWER, 2)
  return whole(`${head}${drawFrom(random, random.pick(alphabets), 12)}7`)
}

/** Twenty characters that are no word: with fewer digits, a few of a thousand look like one. */
function drawOpaque(random: Random): Secret {
  for (;;) {
    const text = drawText(random, '{d1}{a19}')
    if ((text.match(/[0-9]+/g)?.length ?? 0) >= 3) return whole(text)
  }
}

/** Luhn-valid, in a range that test cards use. */
function drawCard(random: Random): Secret {
  const body = `4${drawText(random, '{d14}')}`
  let sum = 0
  for (const [i, digit] of [...body].entries()) {
    const doubled = Number(digit) * (i % 2 === 0 ? 2 : 1)
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return whole(body + String((10 - (sum % 10)) % 10))
}

function drawSsn(random: Random): Secret {
  const part = (from: number, end: number) => String(from + random.below(end - from))
  return whole(`${part(100, 700)}-${part(10, 99)}-${part(1000, 9999)}`)
}

function base64Json(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

const JWT_HEADERS = [
  { alg: 'HS256', typ: 'JWT' },
  { alg: 'RS256', typ: 'JWT', kid: 'sig-2024-09' },
  { typ: 'JWT', alg: 'ES256' },
]

function drawJwt(random: Random): Secret {
  const header = random.pick(JWT_HEADERS)
  const claims = base64Json({
    iss: 'https://login.acme.example/',
    sub: `user-${random.below(1e6)}`,
    aud: 'orders-api',
    exp: 1_700_000_000 + random.below(1e8),
  })
  const signature = drawText(random, header.alg === 'RS256' ? '{u342}' : '{u43}')
  return { text: `${base64Json(header)}.${claims}.${signature}`, cores: [claims, signature] }
}

function drawUnsignedJwt(random: Random): Secret {
  const { text, cores } = drawJwt(random)
  return { text: text.slice(0, text.lastIndexOf('.') + 1), cores: cores.slice(0, 1) }
}

const PEM_KINDS = 'RSA ,EC ,OPENSSH ,ENCRYPTED ,'

/** Five parts: head, key (none where it is agreed on), initialization vector, text, tag. */
function drawJwe(random: Random): Secret {
  const key = random.pick(['', drawText(random, '{u342}')])
  const head = base64Json({ alg: key === '' ? 'dir' : 'RSA-OAEP', enc: 'A256GCM' })
  return draw(random, `${head}.${key}.{u16}.{u60}.{u22}`)
}

/** By semicolons: what joins the lines, what may stand before the label, how many, which stay. */
function drawPem(random: Random, argument: string): Secret {
  const [separator = '', kinds = PEM_KINDS, count, from, end] = argument.split(';')
  const kind = kinds.includes(',') ? random.pick(kinds.split(',')) : kinds
  const label = `${kind}PRIVATE KEY-----`
  const length = count ? Number(count) : 4 + random.below(8)
  const body = Array.from({ length }, () => drawText(random, '{b64}'))
  const lines = [`-----BEGIN ${label}`, ...body, `-----END ${label}`]
  // A limit of length has cut the end, or a log begins in its midst.
  const kept = lines.slice(Number(from ?? 0), end === undefined ? undefined : Number(end))
  return { text: kept.join(separator), cores: body.filter((line) => kept.includes(line)) }
}

const MAKERS: Readonly<Record<string, (random: Random, argument: string) => Secret>> = {
  password: drawPassword,
  // Trouble for parsers of text, though nothing that JSON escapes.
  'hard-password': (random) => whole(drawText(random, '{a5}#{a4}!{L2}*{d3}%{a3}')),
  'url-password': drawUrlPassword,
  opaque: drawOpaque,
  pin: (random) => whole(String(100_000 + random.below(900_000))),
  card: drawCard,
  ssn: drawSsn,
  basic: (random) => draw(random, '«{=admin|svc-deploy|ci@acme.example|nagios|api}:{@password}»'),
  jwt: drawJwt,
  'jwt-unsigned': drawUnsignedJwt,
  jwe: drawJwe,
  pem: drawPem,
}
