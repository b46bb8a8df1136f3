/** Secrets in events of web frameworks. */
import { drawKey, drawPassword, drawSessionId, drawToken, pattern } from './drawing.ts'
import { kept, type Scene, scenes } from './scene.ts'

const drawOpaque = pattern('{u43}', '{a32}', '{x40}')

const RAILS = scenes('Rails', [
  [
    'dumps in text',
    'parameters',
    drawPassword,
    (s) => ({
      message: `Parameters: {"user"=>{"email"=>"jo@acme.example", "password"=>"${s}"}}`,
      level: 'INFO',
    }),
  ],
  [
    'dumps in text',
    'symbols as keys',
    drawPassword,
    (s) => ({ message: `{adapter: "postgresql", username: "orders", password: "${s}", pool: 5}` }),
  ],
  [
    'names in events',
    'lograge parameters',
    drawPassword,
    (s) => ({
      method: 'POST',
      path: '/users',
      status: 200,
      params: { user: { email: 'jo@acme.example', password: s, password_confirmation: s } },
    }),
  ],
  [
    'dumps in text',
    'SQL of a reset',
    drawToken,
    (s) => ({ message: `UPDATE "users" SET "reset_password_token" = '${s}' WHERE "id" = 1842` }),
  ],
  [
    'cookies',
    'Rack environment',
    drawSessionId,
    (s) => ({ message: `HTTP_COOKIE: _acme_session=${s}; theme=dark` }),
  ],
])

const DJANGO = scenes('Django', [
  [
    'dumps in text',
    'settings',
    drawKey,
    (s) => ({ message: `{'DEBUG': False, 'SECRET_KEY': '${s}', 'TIME_ZONE': 'UTC'}` }),
  ],
  [
    'dumps in text',
    'QueryDict',
    drawPassword,
    (s) => ({ msg: `POST: <QueryDict: {'username': ['jo'], 'password': ['${s}']}>` }),
  ],
  [
    'dumps in text',
    'database settings',
    drawPassword,
    (s) => ({ msg: `DATABASES = {'default': {'USER': 'orders', 'PASSWORD': '${s}'}}` }),
  ],
  [
    'cookies',
    'request.COOKIES',
    drawSessionId,
    (s) => ({ msg: `COOKIES: {'sessionid': '${s}', 'theme': 'dark'}` }),
  ],
  [
    'headers in text',
    'META',
    drawOpaque,
    (s) => ({ msg: `{'REMOTE_ADDR': '10.0.3.7', 'HTTP_AUTHORIZATION': 'Token ${s}'}` }),
  ],
])

const EXPRESS = scenes('Express', [
  [
    'headers in text',
    'inspected headers',
    drawOpaque,
    (s) => ({ msg: `{ host: 'api', authorization: 'Bearer ${s}', accept: '*/*' }` }),
  ],
  [
    'JSON in strings',
    'body behind words',
    drawPassword,
    (s) => ({
      msg: `POST /login body=${JSON.stringify({ email: 'jo@acme.example', password: s })}`,
      level: 30,
    }),
    [kept('email', 'jo@acme.example')],
  ],
  [
    'JSON in strings',
    'axios error',
    drawPassword,
    (s) => ({
      err: { code: 'ERR_BAD_REQUEST', config: { data: JSON.stringify({ user: 'jo', pwd: s }) } },
    }),
    [kept('user', 'jo')],
  ],
  [
    'names in events',
    'axios headers',
    drawOpaque,
    (s) => ({ err: { config: { method: 'get', headers: { Authorization: `Bearer ${s}` } } } }),
  ],
  [
    'names in events',
    'pino request',
    drawOpaque,
    (s) => ({ level: 30, req: { method: 'GET', headers: { host: 'api', 'x-api-key': s } } }),
  ],
  [
    'URLs and forms',
    'morgan query',
    drawOpaque,
    (s) => ({ msg: `GET /callback?access_token=${s}&state=ok 302 4.1 ms` }),
  ],
  [
    'cookies',
    'connect.sid',
    drawSessionId,
    (s) => ({ msg: `cookie: connect.sid=s%3A${s}; lang=de` }),
  ],
  [
    'names in events',
    'raw headers as a list',
    drawOpaque,
    (s) => ({ rawHeaders: ['Host', 'api.acme.example', 'Authorization', `Bearer ${s}`] }),
  ],
])

const SPRING = scenes('Spring', [
  [
    'connection strings',
    'JDBC URL',
    drawPassword,
    (s) => ({ message: `jdbcUrl: jdbc:postgresql://db:5432/orders?user=orders&password=${s}` }),
  ],
  [
    'dumps in text',
    'toString of properties',
    drawPassword,
    (s) => ({ message: `DataSourceProperties(url=jdbc:h2:mem, username=sa, password=${s})` }),
  ],
  [
    'pairs in text',
    'generated password',
    pattern('{g}'),
    (s) => ({ message: `Using generated security password: ${s}`, logger: 'UserDetails' }),
  ],
  [
    'name and value pairs',
    'actuator property',
    drawPassword,
    (s) => ({ source: 'env', property: { name: 'spring.datasource.password', value: s } }),
  ],
  [
    'command lines',
    'argument',
    drawPassword,
    (s) => ({ message: `Program arguments: --server.port=80 --spring.datasource.password=${s}` }),
  ],
  [
    'headers in text',
    'wire log',
    drawOpaque,
    (s) => ({ message: `http-outgoing-0 >> "Authorization: Bearer ${s}[\\r][\\n]"` }),
  ],
  [
    'cookies',
    'wire log cookie',
    pattern('{X32}'),
    (s) => ({ message: `http-outgoing-0 >> Cookie: JSESSIONID=${s}` }),
  ],
  [
    'headers in text',
    'Feign bracketed header',
    drawOpaque,
    (s) => ({ message: `[OrdersClient#list] X-Api-Key: ${s}` }),
  ],
])

const LARAVEL = scenes('Laravel', [
  [
    'dumps in text',
    'var_export',
    drawPassword,
    (s) => ({ message: `array ( 'email' => 'jo@acme.example', 'password' => '${s}', )` }),
  ],
  [
    'dumps in text',
    'print_r',
    drawPassword,
    (s) => ({ message: `Array\n(\n    [email] => jo\n    [password] => ${s}\n)\n` }),
  ],
  [
    'pairs in text',
    'env file',
    pattern('base64:{b43}='),
    (s) => ({ message: `APP_NAME=orders\nAPP_KEY=${s}\nAPP_DEBUG=true` }),
  ],
  [
    'JSON in strings',
    'context behind the message',
    drawPassword,
    (s) => ({
      message: `production.ERROR: sign-in failed ${JSON.stringify({ id: 7, password: s })}`,
    }),
    [kept('id', 7)],
  ],
  [
    'cookies',
    'session cookie',
    pattern('eyJpdiI6I{a120}'),
    (s) => ({ message: `Cookie: laravel_session=${s}; lang=de` }),
  ],
])

const ASP_NET = scenes('ASP.NET', [
  [
    'connection strings',
    'ADO.NET',
    drawPassword,
    (s) => ({ Message: `Server=db;Database=orders;User Id=orders;Password=${s};Encrypt=true` }),
  ],
  [
    'connection strings',
    'ADO.NET with pwd',
    drawPassword,
    (s) => ({ Message: `Data Source=db;Initial Catalog=orders;uid=orders;pwd=${s}` }),
  ],
  [
    'headers in text',
    'request headers',
    drawOpaque,
    (s) => ({ Message: `Request Headers:\nHost: api\nAuthorization: Bearer ${s}\nAccept: */*` }),
  ],
  [
    'cookies',
    'authentication cookie',
    pattern('CfDJ8{u160}'),
    (s) => ({ Message: `Cookie: .AspNetCore.Cookies=${s}` }),
  ],
  [
    'names in events',
    'structured properties',
    drawKey,
    (s) => ({ Level: 'Debug', Properties: { Options: { ClientId: 'orders', ClientSecret: s } } }),
  ],
])

export const WEB_SCENES: readonly Scene[] = [
  ...RAILS,
  ...DJANGO,
  ...EXPRESS,
  ...SPRING,
  ...LARAVEL,
  ...ASP_NET,
]
