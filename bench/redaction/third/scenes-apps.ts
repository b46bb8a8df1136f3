/**
 * Secrets in events of what teams run and did not write: notebooks, dashboards, schedulers, package
 * tools, blogs; and what servers print at their first start.
 */
import { drawPassword, drawSessionId, drawToken, pattern } from './drawing.ts'
import { lineScenes, type Scene, scenes } from './scene.ts'

const drawHexPassword = pattern('{x32}')
const drawWireGuardKey = pattern('{b43}=')

const FIRST_START = lineScenes('first start', 'message', [
  [
    'pairs in text',
    'MySQL',
    pattern('{a5}*{a6}'),
    '[Note] [Server] A temporary password is generated for root@localhost: §',
  ],
  [
    'pairs in text',
    'Jenkins',
    drawHexPassword,
    'Please use the following password to proceed to installation:\n\n§\n\nThis may also be found',
  ],
  ['pairs in text', 'Elasticsearch tool', pattern('{a20}'), 'PASSWORD elastic = §'],
  ['pairs in text', 'Elasticsearch', pattern('{a20}'), 'Password for the elastic user:\n  §\n'],
  ['pairs in text', 'generated for an admin', drawPassword, 'Generated admin password: §'],
  [
    'pairs in text',
    'mail of an invitation',
    drawPassword,
    'Your temporary password is § until Friday',
  ],
  ['URLs and forms', 'Jupyter', pattern('{x48}'), 'http://127.0.0.1:8888/lab?token=§'],
])

const FILES = lineScenes('configuration files', 'log', [
  [
    'pairs in text',
    'Grafana ini',
    drawPassword,
    '[security]\nadmin_user = admin\nadmin_password = §',
  ],
  ['pairs in text', 'netrc', drawPassword, 'machine api.acme.example login jo password §'],
  [
    'pairs in text',
    'WireGuard',
    drawWireGuardKey,
    '[Interface]\nPrivateKey = §\nListenPort = 51820',
  ],
  [
    'pairs in text',
    'rndc',
    drawWireGuardKey,
    'key "rndc" {\n  algorithm hmac-sha256;\n  secret "§";\n};',
  ],
  ['dumps in text', 'Maven settings', drawPassword, '<server><id>acme</id><password>§</password>'],
  ['pairs in text', 'Gradle', drawPassword, 'signing.keyId=1842\nsigning.password=§\n'],
  ['pairs in text', 'Prometheus', drawPassword, 'basic_auth:\n  username: scrape\n  password: §\n'],
  ['pairs in text', 'toml', drawToken, '[registry]\nindex = "https://crates.acme"\ntoken = "§"\n'],
])

const SITES = lineScenes('sites', 'message', [
  ['cookies', 'PHP', pattern('{l26}'), 'Set-Cookie: PHPSESSID=§; path=/; HttpOnly'],
  [
    'cookies',
    'WordPress',
    pattern('{x64}'),
    'Cookie: wordpress_logged_in_1842=jo%7C1726308672%7C§; wp-settings-1=x',
  ],
  [
    'cookies',
    'Flask',
    pattern('.eJw{u60}.Zu{a4}.{u27}'),
    'set-cookie: session=§; HttpOnly; Path=/',
  ],
  [
    'cookies',
    'Next.js',
    pattern('{u120}'),
    'cookie: __Secure-next-auth.session-token=§; theme=dark',
  ],
  ['cookies', 'Go header map', drawSessionId, 'map[Accept:[*/*] Cookie:[sid=§; lang=de]]'],
  ['cookies', 'curl', drawSessionId, "curl -b 'session=§' https://app.acme.example/account"],
  ['cookies', 'GitLab', drawHexPassword, 'cookie: known_sign_in=x; _gitlab_session=§'],
  ['URLs and forms', 'reset link', pattern('{u20}'), 'GET /users/edit?reset_password_token=§ 200'],
  [
    'URLs and forms',
    'confirmation link',
    pattern('{u20}'),
    'GET /confirm?confirmation_token=§ 302',
  ],
  [
    'URLs and forms',
    'socket',
    drawToken,
    'GET wss://rt.acme.example/socket?apikey=§&vsn=1.0.0 101',
  ],
  [
    'URLs and forms',
    'sign-in form',
    drawPassword,
    'POST /login utf8=%E2%9C%93&user%5Bpassword%5D=§',
  ],
  [
    'URLs and forms',
    'redirect, encoded',
    drawToken,
    'GET /go?to=https%3A%2F%2Fapp.example%2Fcb%3Faccess_token%3D§%26x%3D1 302',
  ],
  [
    'connection strings',
    'DSN, encoded',
    drawPassword,
    'dsn=postgres%3A%2F%2Forders%3A§%40db.acme%2Forders',
  ],
  [
    'URLs and forms',
    'Telegram',
    pattern('{d10}:AA{u33}'),
    'POST https://api.telegram.org/bot§/sendMessage 200',
  ],
])

const PACKAGE_TOOLS = lineScenes('package tools', 'message', [
  ['URLs and forms', 'pip', drawToken, 'Looking in indexes: https://__token__:§@pypi.acme/simple'],
  ['URLs and forms', 'Composer', drawToken, 'Cloning https://oauth2:§@git.acme.example/a/b.git'],
  ['URLs and forms', 'proxy variable', drawPassword, 'HTTPS_PROXY=http://jo:§@proxy.acme:3128'],
  ['command lines', 'twine', drawPassword, 'twine upload -u __token__ -p § dist/*'],
  ['command lines', 'cargo', drawToken, 'cargo publish --token § --dry-run'],
  ['command lines', 'gradle', drawPassword, './gradlew publish -PrepoPassword=§ --info'],
  ['command lines', 'dotnet nuget', drawToken, 'dotnet nuget push a.nupkg --api-key § -s acme'],
])

const ENGINES = [
  ...scenes('data tools', [
    [
      'names in events',
      'Kafka connector',
      drawPassword,
      (s) => ({
        connector: 'orders',
        config: { 'connection.user': 'o', 'connection.password': s },
      }),
    ],
    [
      'names in events',
      'Airflow connection',
      drawPassword,
      (s) => ({ conn: { conn_id: 'dwh', conn_type: 'postgres', login: 'etl', password: s } }),
    ],
    [
      'names in events',
      'ARM parameters',
      drawPassword,
      (s) => ({
        properties: { parameters: { adminPassword: { type: 'SecureString', value: s } } },
      }),
    ],
    [
      'names in events',
      'state of an app',
      drawToken,
      (s) => ({ action: 'LOGIN', state: { auth: { accessToken: s, userId: 'u-7' } } }),
    ],
    [
      'names in events',
      'OTLP header attribute',
      drawToken,
      (s) => ({ name: 'GET', attributes: { 'http.request.header.x-api-key': [s] } }),
    ],
    [
      'names in events',
      'webhook endpoint',
      pattern('{a32}'),
      (s) => ({ object: 'webhook_endpoint', url: 'https://api.acme.example/hook', secret: s }),
    ],
  ]),
  ...scenes('build tools', [
    [
      'name and value pairs',
      'Jenkins parameters',
      drawPassword,
      (s) => ({ parameters: [{ _class: 'StringValue', name: 'DEPLOY_PASSWORD', value: s }] }),
    ],
    [
      'name and value pairs',
      'GitLab variables',
      drawToken,
      (s) => ({ variables: [{ key: 'DEPLOY_TOKEN', value: s, masked: true }] }),
    ],
    [
      'name and value pairs',
      'Argo CD parameters',
      drawPassword,
      (s) => ({ helm: { parameters: [{ name: 'auth.password', value: s }] } }),
    ],
    [
      'name and value pairs',
      'app settings',
      drawPassword,
      (s) => ({ settings: [{ name: 'DB_PASSWORD', slotSetting: false, value: s }] }),
    ],
    [
      'name and value pairs',
      'Postman collection',
      drawToken,
      (s) => ({ request: { header: [{ key: 'X-Api-Key', value: s, type: 'text' }] } }),
    ],
    [
      'name and value pairs',
      'tags',
      drawToken,
      (s) => ({ tags: ['env:prod', `api_key:${s}`, 'team:orders'] }),
      ['"env:prod"', '"team:orders"'],
    ],
    [
      'name and value pairs',
      'fields of a form',
      drawPassword,
      (s) => ({
        fields: [
          { field: 'email', value: 'jo' },
          { field: 'password', value: s },
        ],
      }),
      ['{"field":"email","value":"jo"}'],
    ],
  ]),
]

export const APP_SCENES: readonly Scene[] = [
  ...FIRST_START,
  ...FILES,
  ...SITES,
  ...PACKAGE_TOOLS,
  ...ENGINES,
]
