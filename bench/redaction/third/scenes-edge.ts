/** Secrets in events of proxies, meshes, identity servers and mobile backends. */
import { drawBasic, drawPassword, pattern } from './drawing.ts'
import { kept, type Scene, scenes } from './scene.ts'

const drawOpaque = pattern('{u43}', '{a32}', '{x40}')

const PROXIES = scenes('proxies', [
  [
    'URLs and forms',
    'nginx query',
    drawOpaque,
    (s) => ({
      log: `10.0.3.7 - - [14/Sep/2024:10:11:12 +0000] "GET /ws?token=${s} HTTP/1.1" 101 0`,
    }),
  ],
  [
    'URLs and forms',
    'nginx upstream with a user',
    drawPassword,
    (s) => ({ log: `upstream timed out, upstream: "http://orders:${s}@10.0.3.9:8080/v1"` }),
  ],
  [
    'URLs and forms',
    'redirect with a fragment',
    drawOpaque,
    (s) => ({ log: `302 Location: https://app.example/cb#access_token=${s}&expires_in=3600` }),
  ],
  [
    'headers in text',
    'Envoy debug',
    drawOpaque,
    (s) => ({ message: `':authority', 'api'\n':path', '/v1'\n'authorization', 'Bearer ${s}'` }),
  ],
  [
    'names in events',
    'Traefik access log',
    drawOpaque,
    (s) => ({ RequestPath: '/v1', request_Authorization: `Bearer ${s}`, OriginStatus: 200 }),
  ],
  [
    'headers in text',
    'HAProxy capture',
    drawOpaque,
    (s) => ({ log: `10.0.3.7:52144 web api/s1 0/0/1/4 200 {api.acme.example|Bearer ${s}}` }),
  ],
  [
    'names in events',
    'Kong key-auth',
    drawOpaque,
    (s) => ({ request: { method: 'GET', headers: { apikey: s, host: 'api' } }, latency: 4 }),
  ],
  [
    'headers in text',
    'Caddy header map',
    drawOpaque,
    (s) => ({ msg: `map[Accept:[*/*] Authorization:[Bearer ${s}] Host:[api]]` }),
  ],
  [
    'name and value pairs',
    'mesh tap headers',
    drawOpaque,
    (s) => ({
      headers: [
        { name: ':path', value: '/v1/orders' },
        { name: 'authorization', value: `Bearer ${s}` },
      ],
    }),
    ['"/v1/orders"'],
  ],
])

const IDENTITY = scenes('identity', [
  [
    'URLs and forms',
    'client credentials form',
    drawOpaque,
    (s) => ({ body: `grant_type=client_credentials&client_id=orders&client_secret=${s}` }),
  ],
  [
    'URLs and forms',
    'refresh form',
    drawOpaque,
    (s) => ({ body: `grant_type=refresh_token&refresh_token=${s}&scope=openid` }),
  ],
  [
    'URLs and forms',
    'password form',
    drawPassword,
    (s) => ({ body: `grant_type=password&username=jo&password=${s}&scope=openid` }),
  ],
  [
    'JSON in strings',
    'token response',
    drawOpaque,
    (s) => ({
      message: JSON.stringify({ access_token: s, token_type: 'Bearer', expires_in: 3600 }),
    }),
    [kept('token_type', 'Bearer'), kept('expires_in', 3600)],
  ],
  [
    'headers in text',
    'client authentication',
    drawBasic,
    (s) => ({
      message: `> POST /oauth/token HTTP/1.1\n> Authorization: Basic ${s}\n> Accept: */*`,
    }),
  ],
  [
    'names in events',
    'registered client',
    drawOpaque,
    (s) => ({ event: 'client.created', client: { client_id: 'orders', client_secret: s } }),
  ],
])

const MOBILE = scenes('mobile', [
  [
    'headers in text',
    'OkHttp',
    drawOpaque,
    (s) => ({ message: `D/OkHttp: Authorization: Bearer ${s}` }),
  ],
  [
    'dumps in text',
    'Foundation headers',
    drawOpaque,
    (s) => ({ message: `{\n    Accept = "*/*";\n    Authorization = "Bearer ${s}";\n}` }),
  ],
  [
    'JSON in strings',
    'OkHttp body',
    drawPassword,
    (s) => ({ message: `D/OkHttp: ${JSON.stringify({ device: 'pixel', password: s })}` }),
    [kept('device', 'pixel')],
  ],
  [
    'JSON in strings',
    'GraphQL variables',
    drawPassword,
    (s) => ({
      query: JSON.stringify({ operationName: 'SignIn', variables: { input: { password: s } } }),
    }),
    [kept('operationName', 'SignIn')],
  ],
  [
    'dumps in text',
    'Kotlin data class',
    drawOpaque,
    (s) => ({ message: `Session(userId=1842, accessToken=${s}, expiresIn=3600)` }),
  ],
  [
    'dumps in text',
    'Go struct',
    drawPassword,
    (s) => ({ message: `{Host:db Port:5432 User:orders Password:${s} SSLMode:disable}` }),
  ],
])

export const EDGE_SCENES: readonly Scene[] = [...PROXIES, ...IDENTITY, ...MOBILE]
