/** Where secrets are met: events and log lines around them, by what kind of secret fits there. */
import type { SecretKind } from './tokens.ts'

export interface Place {
  readonly name: string
  readonly kinds: readonly SecretKind[]
  readonly event: (secret: string) => object
}

const ANY = ['token', 'phrase', 'block'] as const
const INLINE = ['token', 'phrase'] as const
const TOKEN = ['token'] as const

function line(
  name: string,
  kinds: readonly SecretKind[],
  message: (secret: string) => string,
): Place {
  return { name, kinds, event: (secret) => ({ level: 'info', message: message(secret) }) }
}

const json = (value: unknown) => JSON.stringify(value)
/** As PHP and Jackson may write it: slashes escaped. */
const slashed = (value: unknown) => JSON.stringify(value).replaceAll('/', '\\/')
/** As nginx escapes a request body in its log. */
const nginx = (text: string) => text.replaceAll('\\', '\\x5C').replaceAll('"', '\\x22')

const IN_EVENTS: readonly Place[] = [
  { name: 'alone', kinds: ANY, event: (s) => ({ value: s }) },
  { name: 'deep', kinds: ANY, event: (s) => ({ a: { b: [{ c: [1, [s, 'x']] }] }, d: 2 }) },
  { name: 'extracted log', kinds: ANY, event: (s) => ({ log: json({ level: 'info', got: s }) }) },
  { name: 'text log', kinds: ANY, event: (s) => ({ log: `2026-01-02 INFO loaded ${s}` }) },
  {
    name: 'otlp record',
    kinds: ANY,
    event: (s) => ({ body: `got ${s}`, attributes: { 'http.target': '/x' }, resource: {} }),
  },
]

const IN_TEXT: readonly Place[] = [
  line('sentence', ANY, (s) => `Could not use ${s} for this upload`),
  line('end of sentence', INLINE, (s) => `Retrying with ${s}.`),
  line('before a comma', INLINE, (s) => `tried ${s}, then gave up`),
  line('in double quotes', ANY, (s) => `value "${s}" is not valid`),
  line('in single quotes', ANY, (s) => `value '${s}' is not valid`),
  line('in backticks', INLINE, (s) => `value \`${s}\` is not valid`),
  line('in typographic quotes', INLINE, (s) => `Wert „${s}“ ungültig`),
  line('between ideographs', TOKEN, (s) => `密钥${s}已过期`),
  line('in brackets', ANY, (s) => `creds=[${s}] n=1`),
  line('in parentheses', INLINE, (s) => `client (${s}) connected`),
  line('in xml', ANY, (s) => `<config><cred>${s}</cred></config>`),
  line('html entities', INLINE, (s) => `cred=&quot;${s}&quot;&amp;n=1`),
  line('markdown', INLINE, (s) => `**${s}** and more`),
  line('tabs', ANY, (s) => `2026-01-02\tweb-1\t${s}\t200`),
  line('pipes', INLINE, (s) => `web-1|${s}|200`),
  line('csv', TOKEN, (s) => `7,ann,${s},200`),
  line('ellipsis', INLINE, (s) => `got ${s}…`),
  line('after a colon', INLINE, (s) => `cred:${s}`),
  line('colours', INLINE, (s) => `\u001b[32minfo\u001b[39m cred \u001b[1;33m${s}\u001b[0m`),
]

const IN_FORMATS: readonly Place[] = [
  line('logfmt', TOKEN, (s) => `level=info msg="signed in" cred=${s} dur=12ms`),
  line('logfmt, quoted', ANY, (s) => `level=info cred="${s}" dur=12ms`),
  line('environment', TOKEN, (s) => `export CLOUD_CRED=${s}`),
  line('docker run', TOKEN, (s) => `docker run --rm -e CRED=${s} -p 80:80 shop/web:1.2`),
  line('flag', TOKEN, (s) => `exec: shopctl --cred=${s} --verbose`),
  line('flag and blank', TOKEN, (s) => `exec: shopctl --cred ${s} --verbose`),
  line('yaml', TOKEN, (s) => `region: eu-1\ncred: ${s}\nport: 80`),
  line('ini', TOKEN, (s) => `[default]\r\ncred = ${s}\r\nregion = eu-1\r\n`),
  line('json in a string', ANY, (s) => json({ ok: true, data: { cred: s } })),
  line('json in json in a string', ANY, (s) => json({ payload: json({ cred: s }) })),
  line('json in a string, slashes escaped', ANY, (s) => slashed({ cred: s, n: 1 })),
  line('json, quotes as \\u0022', INLINE, (s) => `{\\u0022cred\\u0022:\\u0022${s}\\u0022}`),
  line('json, quotes as \\x22', INLINE, (s) => nginx(`"{"cred":"${s}","n":1}"`)),
  line('python repr', ANY, (s) => `kwargs={'cred': '${s}', 'n': 1}`),
  line('python bytes', TOKEN, (s) => `sent b'${s}' to peer`),
  line('ruby hash', INLINE, (s) => `Parameters: {"cred"=>"${s}", "n"=>"1"}`),
  line('go map', INLINE, (s) => `headers=map[Accept:[*/*] Cred:[${s}]]`),
  line('java toString', INLINE, (s) => `Config{region=eu-1, cred=${s}, port=80}`),
  line('php array', INLINE, (s) => `array ( 'cred' => '${s}', )`),
  line('sql', ANY, (s) => `INSERT INTO creds VALUES (7, '${s}', now())`),
  line('newlines spelled', INLINE, (s) => `first\\n${s}\\nlast`),
  line('tab spelled', INLINE, (s) => `cred\\t${s}\\tn`),
  line('colours spelled', INLINE, (s) => `\\u001b[32m${s}\\u001b[0m done`),
  line('colours of a shell', INLINE, (s) => `\\033[0;32m${s}\\033[0m done`),
  line('stack trace', ANY, (s) => `Error: refused ${s}\n    at send (/app/src/send.js:10:7)`),
]

const IN_HTTP: readonly Place[] = [
  line('query', TOKEN, (s) => `GET /v1/items?page=2&cred=${s} HTTP/1.1`),
  line('query, first', TOKEN, (s) => `https://api.example.com/v1/items?cred=${s}&page=2`),
  line('fragment', TOKEN, (s) => `redirected to https://app.example.com/cb#cred=${s}`),
  line(
    'access log',
    TOKEN,
    (s) => `203.0.113.9 - - [02/Jan/2026:03:04:05 +0000] "GET /x?c=${s} HTTP/2.0" 200 12 "-" "-"`,
  ),
  line('header', INLINE, (s) => `X-Vendor-Cred: ${s}`),
  line('headers', INLINE, (s) => `Host: example.com\r\nX-Cred: ${s}\r\nAccept: */*\r\n\r\n`),
  line('cookie', TOKEN, (s) => `Cookie: theme=dark; sid=${s}; lang=en`),
  line('set-cookie', TOKEN, (s) => `Set-Cookie: sid=${s}; Path=/; HttpOnly; SameSite=Lax`),
  line('curl', INLINE, (s) => `curl -sS -H "X-Cred: ${s}" https://api.example.com/v1/items`),
  line('form, percent-encoded', TOKEN, (s) => `body=state%3D1%26cred%3D${s}%26n%3D2`),
  line('json, percent-encoded', TOKEN, (s) => `data=%7B%22cred%22%3A%22${s}%22%7D`),
]

export const PLACES: readonly Place[] = [...IN_EVENTS, ...IN_TEXT, ...IN_FORMATS, ...IN_HTTP]
