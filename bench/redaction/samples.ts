/**
 * Secrets of every format, made at run time from pieces: nothing in this file looks like one. The
 * lengths and alphabets are the vendors', written down here a second time and apart from the
 * detector's table, so that the two check each other.
 */
import type { Random } from '../random.ts'
import { VENDOR_MAKERS } from './vendors.ts'

const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()
const DIGITS = '0123456789'
const BASE32 = `${UPPER}234567`
const HEX = `${DIGITS}abcdef`
const ALNUM = LOWER + UPPER + DIGITS
const BASE64 = `${ALNUM}+/`
const URL_SAFE = `${ALNUM}-_`

function draw(random: Random, alphabet: string, count: number): string {
  let text = ''
  for (let i = 0; i < count; i++) text += alphabet[random.below(alphabet.length)]
  return text
}

type Maker = (random: Random, draw: (alphabet: string, count: number) => string) => string

function base64Of(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

function base64UrlOf(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function jwt(random: Random): string {
  const header = base64UrlOf({ alg: random.pick(['RS256', 'HS256', 'ES256']), typ: 'JWT' })
  const claims = base64UrlOf({ sub: draw(random, DIGITS, 10), iat: 1_700_000_000, name: 'x' })
  return `${header}.${claims}.${draw(random, URL_SAFE, random.pick([43, 86, 342]))}`
}

function pem(random: Random, label: string, lineEnd: string, lines: number): string {
  const body = Array.from({ length: lines }, () => draw(random, BASE64, 64))
  const dashes = '-'.repeat(5)
  const key = `${label}PRIVATE KEY${dashes}`
  return [`${dashes}BEGIN ${key}`, ...body, `${dashes}END ${key}`].join(lineEnd)
}

/** By name of the format; several entries where a vendor has several forms. */
export const SECRET_MAKERS: Readonly<Record<string, Maker>> = {
  aws: (r, d) => `${r.pick(['AK', 'AS', 'AB'])}IA${d(BASE32, 16)}`,
  'aws-acca': (_, d) => `AC${'CA'}${d(BASE32, 16)}`,
  github: (r, d) => `gh${r.pick(['p', 'o', 'u', 's', 'r'])}_${d(ALNUM, 36)}`,
  'github-long': (_, d) => `ghr_${d(ALNUM, 76)}`,
  'github-stateless': (r, d) => `ghs_${d(DIGITS, 6)}_${jwt(r)}`,
  'github-pat': (_, d) => `github_${'pat'}_${d(ALNUM, 22)}_${d(ALNUM, 59)}`,
  gitlab: (_, d) => `gl${'pat'}-${d(URL_SAFE, 20)}`,
  'gitlab-routable': (_, d) => `gl${'pat'}-${d(URL_SAFE, 40)}.${d(HEX, 9)}`,
  google: (_, d) => `AI${'za'}${d(URL_SAFE, 35)}`,
  'slack-bot': (_, d) => `xox${'b'}-${d(DIGITS, 12)}-${d(DIGITS, 12)}-${d(ALNUM, 24)}`,
  'slack-user': (_, d) =>
    `xox${'p'}-${d(DIGITS, 12)}-${d(DIGITS, 12)}-${d(DIGITS, 12)}-${d(HEX, 32)}`,
  'slack-other': (r, d) => `xox${r.pick(['a', 'r'])}-${d(DIGITS, 1)}-${d(ALNUM, 30)}`,
  'slack-rotating': (_, d) => `xox${'e'}.xox${'p'}-1-${d(UPPER + DIGITS, 163)}`,
  'slack-app': (_, d) => `xa${'pp'}-1-A${d(UPPER + DIGITS, 10)}-${d(DIGITS, 13)}-${d(HEX, 64)}`,
  'slack-webhook': (_, d) =>
    `https://hooks.slack.com/${'services'}/T${d(BASE32, 8)}/B${d(BASE32, 10)}/${d(ALNUM, 24)}`,
  stripe: (r, d) =>
    `${r.pick(['sk', 'rk'])}_${r.pick(['live', 'test'])}_${d(ALNUM, r.pick([24, 99]))}`,
  'stripe-short': (_, d) => `sk_${'live'}_${d(ALNUM, 12)}`,
  'openai-legacy': (_, d) => `sk-${d(ALNUM, 20)}T3${'Blbk'}FJ${d(ALNUM, 20)}`,
  openai: (r, d) => {
    const kind = r.pick(['proj', 'svcacct', 'admin'])
    return `sk-${kind}-${d(URL_SAFE, 74)}T3${'Blbk'}FJ${d(URL_SAFE, 74)}`
  },
  'openai-short': (_, d) => `sk-${'proj'}-${d(ALNUM, 48)}`,
  anthropic: (_, d) => `sk-${'ant'}-api03-${d(URL_SAFE, 93)}AA`,
  sendgrid: (_, d) => `S${'G'}.${d(URL_SAFE, 22)}.${d(URL_SAFE, 43)}`,
  npm: (_, d) => `np${'m'}_${d(ALNUM, 36)}`,
  pypi: (_, d) => `pypi-AgEI${'cHlwaS5vcmc'}${d(URL_SAFE, 120)}`,
  digitalocean: (_, d) => `dop_${'v1'}_${d(HEX, 64)}`,
  shopify: (_, d) => `shp${'at'}_${d(HEX, 32)}`,
  huggingface: (_, d) => `h${'f'}_${d(LOWER + UPPER, 34)}`,
  databricks: (_, d) => `da${'pi'}${d(HEX, 32)}`,
  'grafana-cloud': (_, d) => `gl${'c'}_${base64Of({ o: d(DIGITS, 6), n: 'x', k: d(ALNUM, 24) })}`,
  grafana: (_, d) => `gl${'sa'}_${d(ALNUM, 32)}_${d(HEX, 8)}`,
  vault: (_, d) => `hv${'s'}.${d(URL_SAFE, 91)}`,
  'vault-root': (_, d) => `hv${'s'}.${d(ALNUM, 24)}`,
  doppler: (_, d) => `dp.${'pt'}.${d(ALNUM, 43)}`,
  linear: (_, d) => `lin_${'api'}_${d(ALNUM, 40)}`,
  postman: (_, d) => `PM${'AK'}-${d(HEX, 24)}-${d(HEX, 34)}`,
  pulumi: (_, d) => `pu${'l'}-${d(HEX, 40)}`,
  rubygems: (_, d) => `ruby${'gems'}_${d(HEX, 48)}`,
  sentry: (_, d) =>
    `sntr${'ys'}_${base64Of({ iat: 1_700_000_000.1, region_url: 'https://r' })}_${d(BASE64, 43)}`,
  notion: (_, d) => `nt${'n'}_${d(DIGITS, 11)}${d(ALNUM, 35)}`,
  age: (_, d) => `AGE-${'SECRET'}-KEY-1${d('QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)}`,
  onepassword: (_, d) => `op${'s'}_${base64Of({ signInAddress: 'x', secretKey: d(ALNUM, 200) })}`,
  planetscale: (_, d) => `pscale_${'pw'}_${d(URL_SAFE, 43)}`,
  fly: (_, d) => `fm${'2'}_lJPE${d(BASE64, 200)}==`,
  atlassian: (_, d) => `ATA${'TT3'}x${d(URL_SAFE, 176)}=${d(HEX.toUpperCase(), 8)}`,
  'sluice-key': (_, d) => `la${'x'}_${d(LOWER + DIGITS, 8)}_${d(ALNUM, 40)}`,
  'sluice-token': (_, d) => `la${'p'}_${d(LOWER + DIGITS, 8)}_${d(ALNUM, 32)}`,
  jwt: (r) => jwt(r),
  pem: (r) => pem(r, r.pick(['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED ']), '\n', 12),
  'pem-escaped': (r) => pem(r, 'RSA ', '\\n', 12),
  'pem-cut': (r) => pem(r, r.pick(['', 'RSA ']), '\n', 20).slice(0, 200),
  'pem-cut-head': (r) => pem(r, '', '\n', 6).slice(60),
  bearer: (_, d) => `Bearer ${d(URL_SAFE, 32)}`,
  'bearer-hex': (_, d) => `bearer ${d(HEX, 40)}`,
  basic: (r, d) =>
    `Basic ${Buffer.from(`${r.pick(['admin', 'svc'])}:${d(ALNUM, 10)}`).toString('base64')}`,
  'url-password': (r, d) =>
    `${r.pick(['postgres', 'mongodb+srv', 'https', 'amqp'])}://app:${d(ALNUM, 12)}@db:5432/x`,
  'url-password-only': (_, d) => `redis://:${d(ALNUM, 16)}@cache:6379`,
  'jwt-short': (_, d) => `${base64UrlOf({ alg: 'HS256' })}.${base64UrlOf({})}.${d(URL_SAFE, 43)}`,
  'jwt-unsigned': (_, d) => `${base64UrlOf({ alg: 'none' })}.${base64UrlOf({ sub: d(HEX, 8) })}.`,
  'jwt-in-base64': (r) => Buffer.from(jwt(r)).toString('base64'),
  jwe: (r, d) => {
    const key = r.pick(['', d(URL_SAFE, 342)])
    const head = base64UrlOf({ alg: key === '' ? 'dir' : 'RSA-OAEP', enc: 'A256GCM' })
    return `${head}.${key}.${d(URL_SAFE, 16)}.${d(URL_SAFE, 60)}.${d(URL_SAFE, 22)}`
  },
  'pem-in-base64': (r) => {
    const before = r.pick(['', '\n', 'a:', 'key'])
    const label = r.pick(['', 'RSA ', 'EC ', 'DSA ', 'OPENSSH ', 'ENCRYPTED '])
    return Buffer.from(before + pem(r, label, '\n', 4)).toString('base64')
  },
  ...VENDOR_MAKERS,
}

/** A secret in what it is met in. `#` is the secret. */
export const SURROUNDINGS: readonly string[] = [
  '#',
  'using key # for upload',
  'request failed: token=#',
  'GET /v1/items?page=2&sig=#&limit=10 HTTP/1.1',
  'config loaded {"name":"x","value":"#"}',
  "export API='#'",
  'retry (#) after 3 s',
  'X-Api: #\r\nHost: example.com',
  'value:#, next: 1',
  'callback?state=a%3D#%26b',
  '{\\"nested\\":\\"#\\"}',
  'first line\\n#\\nlast line',
  '\u001b[32m#\u001b[0m',
  'über #, größer',
  '<#>',
]

/** A maker of each secret in each surrounding. */
export function drawSecret(random: Random, name: string): string {
  return SECRET_MAKERS[name]!(random, (alphabet, count) => draw(random, alphabet, count))
}
