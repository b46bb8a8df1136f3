/**
 * Secrets of a second set, written from the vendors' descriptions and as they are met in the
 * field, without looking at `samples.ts`. Made at run time; no literal
 * here is one. Each has a core that must not be left of it.
 */
import type { Random } from '../../random.ts'

export interface Secret {
  readonly text: string
  /** What is looked for afterwards; a secret may stand beside text that is none. */
  readonly core: string
}

export type SecretKind = 'token' | 'phrase' | 'block'

export interface SecretMaker {
  readonly name: string
  /** A token has no white space, a phrase has blanks, a block has lines. */
  readonly kind: SecretKind
  readonly make: (random: Random) => Secret
}

const DIGITS = '0123456789'
const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()
const ALNUM = DIGITS + LOWER + UPPER
const CAPITALS = UPPER + DIGITS
const URL_SAFE = `${ALNUM}-_`
const BASE64 = `${ALNUM}+/`
const BASE32 = `${UPPER}234567`

export function draw(random: Random, alphabet: string, length: number): string {
  let text = ''
  while (text.length < length) text += alphabet[random.below(alphabet.length)]!
  return text
}

/** Numbers of so many digits, joined by dashes. */
function numbers(random: Random, ...lengths: number[]): string {
  return lengths.map((length) => draw(random, DIGITS, length)).join('-')
}

/** A token: the literals of its vendor, and what is drawn. */
function token(name: string, make: (random: Random) => string): SecretMaker {
  return {
    name,
    kind: 'token',
    make: (random) => {
      const text = make(random)
      return { text, core: coreOf(text) }
    },
  }
}

/** The longest stretch that no way of escaping changes. */
function coreOf(text: string): string {
  const stretches = text.split(/[^0-9A-Za-z]/)
  return stretches.reduce((longest, each) => (each.length > longest.length ? each : longest))
}

/** `prefix` is given in pieces so that no file holds it as it is. */
function prefixed(name: string, prefix: string, alphabet: string, length: number): SecretMaker {
  const literal = prefix.replaceAll(' ', '')
  return token(name, (random) => literal + draw(random, alphabet, length))
}

const base64url = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

function jwt(random: Random, header: object, claims: object): string {
  return `${base64url(header)}.${base64url(claims)}.${draw(random, URL_SAFE, 43)}`
}

const CLOUDS: readonly SecretMaker[] = [
  prefixed('aws key id', 'AK IA', BASE32, 16),
  prefixed('aws temporary key id', 'AS IA', BASE32, 16),
  prefixed('google api key', 'AI za', URL_SAFE, 35),
  prefixed('google oauth client secret', 'GOC SPX-', URL_SAFE, 28),
  prefixed('google access token', 'ya 29.a0', URL_SAFE, 160),
  token('azure storage connection', (random) => {
    const key = `${draw(random, BASE64, 86)}==`
    return `https;AccountName=shop;Account${'Key='}${key};EndpointSuffix=core.windows`
  }),
  prefixed('digitalocean', 'dop _v1_', '0123456789abcdef', 64),
  prefixed('databricks', 'da pi', '0123456789abcdef', 32),
  prefixed('planetscale password', 'pscale _pw_', URL_SAFE, 43),
  prefixed('fly', 'fm 2_', BASE64, 180),
]

const FORGES: readonly SecretMaker[] = [
  prefixed('github personal', 'gh p_', ALNUM, 36),
  prefixed('github oauth', 'gh o_', ALNUM, 36),
  prefixed('github server', 'gh s_', ALNUM, 36),
  prefixed('github refresh', 'gh r_', ALNUM, 76),
  token(
    'github fine-grained',
    (random) => `github${'_pat_'}11${draw(random, UPPER, 20)}_${draw(random, ALNUM, 59)}`,
  ),
  prefixed('gitlab personal', 'gl pat-', URL_SAFE, 20),
  token(
    'gitlab routable',
    (random) => `gl${'pat-'}${draw(random, URL_SAFE, 27)}.01.${draw(random, LOWER + DIGITS, 9)}`,
  ),
  prefixed('npm', 'np m_', ALNUM, 36),
  token('pypi', (random) => `pypi-${'AgEIcHlwaS5vcmc'}${draw(random, URL_SAFE, 150)}`),
  prefixed('rubygems', 'ruby gems_', '0123456789abcdef', 48),
  prefixed('atlassian', 'ATA TT3xFfGF0', URL_SAFE, 180),
  token('postman', (random) => `PM${'AK-'}${random.hex(24)}-${random.hex(34)}`),
]

const VENDORS: readonly SecretMaker[] = [
  token('slack bot', (random) => `xox${'b-'}${numbers(random, 12, 13)}-${draw(random, ALNUM, 24)}`),
  token('slack user', (random) => `xox${'p-'}${numbers(random, 11, 11, 12)}-${random.hex(32)}`),
  token(
    'slack app',
    (random) =>
      `xap${'p-1-'}A${draw(random, CAPITALS, 10)}-${numbers(random, 13)}-${random.hex(64)}`,
  ),
  token('slack webhook', (random) => {
    const path = `T${draw(random, CAPITALS, 8)}/B${draw(random, CAPITALS, 10)}`
    return `https://hooks.slack${'.com/services/'}${path}/${draw(random, ALNUM, 24)}`
  }),
  prefixed('stripe live', 'sk _live_', ALNUM, 24),
  prefixed('stripe test', 'sk _test_', ALNUM, 99),
  prefixed('stripe restricted', 'rk _live_', ALNUM, 24),
  token(
    'openai legacy',
    (random) => `sk-${draw(random, ALNUM, 20)}T3Blbk${'FJ'}${draw(random, ALNUM, 20)}`,
  ),
  token(
    'openai project',
    (random) =>
      `sk-${'proj-'}${draw(random, URL_SAFE, 74)}T3Blbk${'FJ'}${draw(random, URL_SAFE, 74)}`,
  ),
  token('anthropic', (random) => `sk-${'ant-api03-'}${draw(random, URL_SAFE, 93)}AA`),
  token(
    'sendgrid',
    (random) => `SG${'.'}${draw(random, URL_SAFE, 22)}.${draw(random, URL_SAFE, 43)}`,
  ),
  prefixed('shopify', 'shp at_', '0123456789abcdef', 32),
  prefixed('hugging face', 'h f_', LOWER + UPPER, 34),
  token(
    'grafana service account',
    (random) => `gl${'sa_'}${draw(random, ALNUM, 32)}_${random.hex(8)}`,
  ),
  token(
    'grafana cloud',
    (random) => `gl${'c_'}${base64url({ o: '652992', n: 'logs', k: draw(random, ALNUM, 32) })}`,
  ),
  prefixed('vault service', 'hv s.CAESI', URL_SAFE, 90),
  prefixed('doppler', 'dp .pt.', ALNUM, 43),
  prefixed('linear', 'lin _api_', ALNUM, 40),
  prefixed('pulumi', 'pu l-', '0123456789abcdef', 40),
  token('sentry organization', (random) => {
    const state = base64url({ iat: 1_700_000_000.123, url: 'https://sentry.io' })
    return `sntr${'ys_'}${state}_${draw(random, BASE64, 43)}`
  }),
  prefixed('notion', 'nt n_', ALNUM, 46),
  prefixed('age', 'AGE-SECRET -KEY-1', 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58),
  token(
    '1password',
    (random) => `ops_${'ey'}${base64url({ k: draw(random, ALNUM, 200) }).slice(2)}`,
  ),
  token(
    'stream key',
    (random) => `la${'x_'}${draw(random, LOWER + DIGITS, 8)}_${draw(random, ALNUM, 43)}`,
  ),
  token(
    'access token of ours',
    (random) => `la${'p_'}${draw(random, LOWER + DIGITS, 8)}_${draw(random, ALNUM, 32)}`,
  ),
]

const PRIVATE = `PRIVATE${' KEY'}`

/** Beyond what is asked for: well-known, and as distinctive. */
const OTHERS: readonly SecretMaker[] = [
  prefixed('aws session token', 'IQoJ b3JpZ2lu', BASE64, 400),
  prefixed('aws bedrock', 'AB SKQmVkcm9ja0FQSUtleS', BASE64, 110),
  token('azure service bus', (random) => {
    const host = 'Endpoint=sb://shop.servicebus.windows.net/'
    const key = `${draw(random, BASE64, 43)}=`
    return `${host};SharedAccessKeyName=Root;SharedAccess${'Key='}${key}`
  }),
  token('discord webhook', (random) => {
    const path = `${draw(random, DIGITS, 19)}/${draw(random, URL_SAFE, 68)}`
    return `https://discord${'.com/api'}/webhooks/${path}`
  }),
  prefixed('tailscale', 'tsk ey-auth-k', ALNUM, 40),
  prefixed('netlify', 'nf p_', ALNUM, 36),
  prefixed('figma', 'fig d_', URL_SAFE, 40),
  prefixed('docker', 'dckr _pat_', URL_SAFE, 27),
  prefixed('groq', 'gs k_', ALNUM, 52),
  prefixed('supabase', 'sb p_', '0123456789abcdef', 40),
  prefixed('new relic', 'NR AK-', CAPITALS, 27),
  prefixed('alibaba', 'LT AI5t', ALNUM, 20),
  prefixed('openshift', 'sha 256~', URL_SAFE, 43),
  token('pem as base64', (random) => {
    const block = pem('', `RSA ${PRIVATE}`, '\n', 'whole').make(random)
    return Buffer.from(block.text).toString('base64')
  }),
]

const JWTS: readonly SecretMaker[] = [
  token('jwt hs256', (random) =>
    jwt(random, { alg: 'HS256', typ: 'JWT' }, { sub: random.hex(8), iat: 1_700_000_000 }),
  ),
  token('jwt rs256', (random) => {
    const claims = {
      iss: 'https://id.example.com/',
      aud: ['api'],
      sub: random.hex(24),
      scope: 'a b',
    }
    return jwt(random, { alg: 'RS256', kid: random.hex(16), typ: 'JWT' }, claims)
  }),
  token('kubernetes service account', (random) =>
    jwt(
      random,
      { alg: 'RS256', kid: draw(random, URL_SAFE, 43) },
      { 'kubernetes.io': { namespace: 'shop', pod: { name: 'web-7d9f' } }, exp: 1_800_000_000 },
    ),
  ),
  token('jwt, spaced header', (random) => {
    const header = base64url('{ "typ": "JWT", "alg": "ES256" }')
    return `${header}.${base64url('{\n "sub": "12345678"\n}')}.${draw(random, URL_SAFE, 86)}`
  }),
]

const USERS = ['app', 'admin', 'svc-orders', 'shop_rw', 'ann%40example.com']
const HOSTS = [
  'db.internal:5432',
  '10.1.2.3:6379',
  'cluster0.ab1cd.mongodb.net',
  '[::1]:5432',
  'mq',
]
const PASSWORDS = [ALNUM, URL_SAFE, `${ALNUM}!$&*+,;=~.-_`, LOWER]

function urlPassword(name: string, scheme: string, rest: string, user?: string): SecretMaker {
  return {
    name,
    kind: 'token',
    make: (random) => {
      const core = `${draw(random, LOWER, 2)}${draw(random, random.pick(PASSWORDS), 12)}7`
      const text = `${scheme}://${user ?? random.pick(USERS)}:${core}@${random.pick(HOSTS)}${rest}`
      return { text, core }
    },
  }
}

const URLS: readonly SecretMaker[] = [
  urlPassword('postgres url', 'postgres', '/shop?sslmode=require'),
  urlPassword('mysql url', 'mysql', '/shop'),
  urlPassword('mongodb url', 'mongodb+srv', '/shop?retryWrites=true&w=majority'),
  urlPassword('redis url', 'redis', '/0', ''),
  urlPassword('amqp url', 'amqps', '/%2F'),
  urlPassword('jdbc url', 'jdbc:postgresql', '/shop'),
  urlPassword('proxy url', 'http', ''),
  urlPassword('git url', 'https', '/team/repo.git', 'oauth2'),
  urlPassword('sqlalchemy url', 'postgresql+psycopg2', '/shop'),
  urlPassword('ftp url', 'sftp', '/in/a.csv'),
  urlPassword('smtp url', 'smtps', ''),
]

const OPAQUE: readonly ((random: Random) => string)[] = [
  (random) => random.hex(32),
  (random) => random.hex(64),
  (random) => draw(random, URL_SAFE, 43),
  (random) => draw(random, ALNUM, 24),
  (random) => `${draw(random, BASE64, 42)}==`,
  (random) =>
    `${random.hex(8)}-${random.hex(4)}-4${random.hex(3)}-a${random.hex(3)}-${random.hex(12)}`,
  (random) => `${draw(random, ALNUM, 12)}.${draw(random, ALNUM, 12)}.${draw(random, ALNUM, 8)}`,
]

function phrase(name: string, lead: string, core: (random: Random) => string): SecretMaker {
  return {
    name,
    kind: 'phrase',
    make: (random) => {
      const made = core(random)
      return { text: lead + made, core: coreOf(made) }
    },
  }
}

const opaque = (random: Random) => random.pick(OPAQUE)(random)
const basic = (random: Random) =>
  Buffer.from(`${random.pick(USERS)}:${draw(random, ALNUM, 12)}`).toString('base64')

const HEADERS: readonly SecretMaker[] = [
  phrase('bearer', 'Bearer ', opaque),
  phrase('bearer, lower case', 'bearer ', opaque),
  phrase('authorization bearer', 'Authorization: Bearer ', opaque),
  phrase('bearer in capitals', 'AUTHORIZATION: BEARER ', opaque),
  phrase('basic', 'Basic ', basic),
  phrase('authorization basic', 'Authorization: Basic ', basic),
  phrase('proxy authorization', 'Proxy-Authorization: basic ', basic),
]

function pem(name: string, label: string, newline: string, cut: 'whole' | 'head' | 'tail') {
  const make = (random: Random): Secret => {
    const lines = Array.from({ length: 6 }, () => draw(random, BASE64, 64))
    const begin = `-----BEGIN ${label}-----`
    const end = `-----END ${label}-----`
    const all = [begin, ...lines, end]
    const kept = cut === 'whole' ? all : cut === 'head' ? all.slice(0, 3) : all.slice(4)
    return { text: kept.join(newline), core: coreOf(cut === 'tail' ? lines.at(-1)! : lines[0]!) }
  }
  return { name, kind: 'block', make } as const
}

const BLOCKS: readonly SecretMaker[] = [
  pem('pem pkcs8', PRIVATE, '\n', 'whole'),
  pem('pem rsa', `RSA ${PRIVATE}`, '\n', 'whole'),
  pem('pem ec, crlf', `EC ${PRIVATE}`, '\r\n', 'whole'),
  pem('pem openssh', `OPENSSH ${PRIVATE}`, '\n', 'whole'),
  pem('pem encrypted', `ENCRYPTED ${PRIVATE}`, '\n', 'whole'),
  pem('pem pgp', `PGP ${PRIVATE} BLOCK`, '\n', 'whole'),
  pem('pem, newlines spelled', `RSA ${PRIVATE}`, '\\n', 'whole'),
  pem('pem, newlines spelled twice', PRIVATE, '\\\\n', 'whole'),
  pem('pem, one line', PRIVATE, ' ', 'whole'),
  pem('pem, end cut', `RSA ${PRIVATE}`, '\n', 'head'),
  pem('pem, begin cut', `RSA ${PRIVATE}`, '\n', 'tail'),
  pem('pem, begin cut, newlines spelled', PRIVATE, '\\n', 'tail'),
]

export const FIELD_SECRETS: readonly SecretMaker[] = [
  ...CLOUDS,
  ...FORGES,
  ...VENDORS,
  ...OTHERS,
  ...JWTS,
  ...URLS,
  ...HEADERS,
  ...BLOCKS,
]
