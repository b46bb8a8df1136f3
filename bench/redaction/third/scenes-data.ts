/** Secrets in events of databases, queues, mail, payment, cloud SDKs and language models. */
import type { Random } from '../../random.ts'
import {
  drawBasic,
  drawCard,
  drawKey,
  drawPassword,
  drawToken,
  pattern,
  type Secret,
} from './drawing.ts'
import { kept, lineScenes, type Scene, scenes } from './scene.ts'

const drawOpaque = pattern('{u43}', '{a32}', '{x40}')

const POSTGRESQL = lineScenes('PostgreSQL', 'message', [
  [
    'dumps in text',
    'create role',
    drawPassword,
    "statement: CREATE ROLE orders LOGIN PASSWORD '§'",
  ],
  ['dumps in text', 'alter user', drawPassword, "LOG: ALTER USER orders WITH PASSWORD '§';"],
  ['connection strings', 'URL', drawPassword, 'dial postgres://orders:§@db.acme:5432/orders'],
  ['connection strings', 'keywords', drawPassword, 'host=db user=orders password=§ dbname=orders'],
  [
    'connection strings',
    'quoted keywords',
    drawPassword,
    "host=db user=orders password='§' port=5",
  ],
  ['connection strings', 'query', drawPassword, 'postgres://db/orders?user=orders&password=§&x=1'],
])

const MYSQL = lineScenes('MySQL', 'message', [
  ['dumps in text', 'create user', drawPassword, "CREATE USER 'jo'@'%' IDENTIFIED BY '§'"],
  ['dumps in text', 'replication', drawPassword, "SOURCE_USER='repl', SOURCE_PASSWORD='§', X=1"],
  ['connection strings', 'Go DSN', drawPassword, 'open orders:§@tcp(db:3306)/orders?parseTime=1'],
  ['connection strings', 'SQLAlchemy', drawPassword, 'Engine(mysql+pymysql://orders:§@db/orders)'],
  ['connection strings', 'JDBC', drawPassword, 'jdbc:mysql://db:3306/o?user=o&password=§&ssl=true'],
  ['pairs in text', 'my.cnf', drawPassword, '[client]\nuser=root\npassword=§\nhost=db'],
])

const MONGODB = [
  ...lineScenes('MongoDB', 'message', [
    ['connection strings', 'SRV', drawPassword, 'mongodb+srv://orders:§@cluster0.acme.example/o'],
    ['connection strings', 'hosts', drawPassword, 'mongodb://orders:§@db-0:27017,db-1:27017/o'],
    [
      'dumps in text',
      'createUser',
      drawPassword,
      "db.createUser({ user: 'jo', pwd: '§', roles: [] })",
    ],
  ]),
  ...scenes('MongoDB', [
    [
      'JSON in strings',
      'command',
      drawPassword,
      (s) => ({ msg: JSON.stringify({ createUser: 'jo', pwd: s, db: 'admin' }) }),
      [kept('createUser', 'jo'), '\\"db\\":\\"admin\\"'],
    ],
  ]),
]

const REDIS = lineScenes('Redis', 'message', [
  ['command lines', 'MONITOR', drawPassword, '1726308672.04 [0 10.0.3.7:52144] "AUTH" "§"'],
  ['command lines', 'MONITOR with a user', drawPassword, '1726308672.04 [0 x:1] "AUTH" "jo" "§"'],
  ['connection strings', 'URL without a user', drawPassword, 'redis://:§@cache.acme:6379/0'],
  ['connection strings', 'TLS URL', drawToken, 'rediss://default:§@cache.acme:6380'],
  ['pairs in text', 'requirepass', drawPassword, 'port 6379\nrequirepass §\nmaxmemory 1gb'],
])

const QUEUES = lineScenes('queues', 'msg', [
  ['connection strings', 'AMQP', drawPassword, 'amqps://orders:§@mq.acme.example:5671/%2f'],
  ['connection strings', 'NATS', drawPassword, 'nats://orders:§@nats-0:4222 disconnected'],
  ['connection strings', 'user with @', drawPassword, 'amqp://jo@acme.example:§@mq:5672/orders'],
  ['connection strings', 'user encoded', drawPassword, 'amqp://jo%40acme.example:§@mq:5672/o'],
  [
    'dumps in text',
    'JAAS',
    drawPassword,
    'sasl.jaas.config = PlainLoginModule required username="o" password="§";',
  ],
  [
    'pairs in text',
    'connector values',
    drawPassword,
    '\tconnection.password = §\n\tbatch.size = 5',
  ],
  ['pairs in text', 'properties', drawPassword, 'ssl.keystore.password=§\nssl.protocol=TLSv1.3'],
  [
    'connection strings',
    'service bus',
    pattern('{b43}='),
    'Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=send;SharedAccessKey=§',
  ],
])

const SEARCH = lineScenes('search', 'message', [
  [
    'pairs in text',
    'Logstash setting',
    drawPassword,
    '[DEBUG][logstash.outputs.email] config LogStash::Outputs::Email/@password = "§"',
  ],
  [
    'pairs in text',
    'Kibana',
    drawPassword,
    'elasticsearch.username: kibana\nelasticsearch.password: §',
  ],
  ['headers in text', 'ApiKey', pattern('{a60}=='), '> Authorization: ApiKey §\n> Accept: */*'],
  ['headers in text', 'Splunk', pattern('{g}'), 'POST /services/collector Authorization: Splunk §'],
  ['headers in text', 'GenieKey', pattern('{g}'), 'Authorization: GenieKey §'],
  ['headers in text', 'SSWS', pattern('00{u40}'), "headers={'Authorization': 'SSWS §'}"],
  ['headers in text', 'Bot', pattern('{a60}'), 'Authorization: Bot §'],
  ['headers in text', 'DD-API-KEY', pattern('{x32}'), 'POST /api/v2/logs DD-API-KEY: §'],
  ['URLs and forms', 'api_key', drawKey, 'POST https://intake.acme.example/v1?api_key=§&v=2'],
])

/** What `AUTH PLAIN` sends: a zero byte, the user, a zero byte, the password. */
function drawPlainAuth(random: Random): Secret {
  const text = Buffer.from(`\0jo\0${drawPassword(random).text}`).toString('base64')
  return { text, cores: [text] }
}

const MAIL = lineScenes('mail', 'message', [
  ['command lines', 'AUTH PLAIN', drawPlainAuth, "send: 'AUTH PLAIN §'"],
  ['command lines', 'IMAP LOGIN', drawPassword, 'C: a001 LOGIN "jo@acme.example" "§"'],
  ['connection strings', 'SMTP URL', drawPassword, 'smtp://mailer:§@smtp.acme.example:587'],
  ['dumps in text', 'nodemailer', drawPassword, "auth: { user: 'mailer', pass: '§' }"],
  ['dumps in text', 'settings', drawPassword, 'smtp: {host: "smtp", user: "m", password: "§"}'],
])

const PAYMENT = [
  ...lineScenes('payment', 'message', [
    ['dumps in text', 'XML', drawCard, '<Card><CardNumber>§</CardNumber><Exp>11/27</Exp></Card>'],
    ['dumps in text', 'XML password', drawPassword, '<Login><User>jo</User><Password>§</Password>'],
    [
      'dumps in text',
      'SOAP security',
      drawPassword,
      '<wsse:Username>jo</wsse:Username><wsse:Password Type="PasswordText">§</wsse:Password>',
    ],
    ['URLs and forms', 'gateway form', drawPassword, 'USER=jo&PWD=§&METHOD=SetExpressCheckout'],
    ['URLs and forms', 'card form', drawCard, 'amount=1999&card_number=§&currency=eur'],
  ]),
  ...scenes('payment', [
    [
      'JSON in strings',
      'request body',
      drawCard,
      (s) => ({ request: JSON.stringify({ amount: 1999, card_number: s, currency: 'eur' }) }),
      ['\\"amount\\":1999', '\\"currency\\":\\"eur\\"'],
    ],
    [
      'names in events',
      'card as a number',
      drawCard,
      (s) => ({ charge: { amount: 1999, cardNumber: Number(s) } }),
    ],
  ]),
]

const drawAwsSecret = pattern('{b40}')

const AWS = [
  ...lineScenes('AWS SDK', 'message', [
    [
      'URLs and forms',
      'presigned URL',
      pattern('{x64}'),
      'PUT https://b.s3.amazonaws.com/k?X-Amz-Expires=900&X-Amz-Signature=§',
    ],
    ['headers in text', 'security token', pattern('{b300}'), 'X-Amz-Security-Token: §\nHost: s3'],
    ['dumps in text', 'botocore headers', pattern('{b200}'), "{'X-Amz-Security-Token': b'§'}"],
    ['pairs in text', 'credentials file', drawAwsSecret, '[prod]\naws_secret_access_key = §\n'],
    [
      'dumps in text',
      'Go credentials',
      drawAwsSecret,
      '{AccessKeyID:id SecretAccessKey:§ Expires:0}',
    ],
  ]),
  ...scenes('AWS SDK', [
    [
      'JSON in strings',
      'assumed role',
      drawAwsSecret,
      (s) => ({
        message: `Response body: ${JSON.stringify({
          Credentials: { SecretAccessKey: s, Expiration: '2024-09-14T11:11:12Z' },
        })}`,
      }),
    ],
    [
      'JSON in strings',
      'secret string',
      drawPassword,
      (s) => ({
        message: JSON.stringify({ Name: 'db', SecretString: JSON.stringify({ password: s }) }),
      }),
      [kept('Name', 'db')],
    ],
  ]),
]

const GOOGLE = lineScenes('Google SDK', 'message', [
  [
    'headers in text',
    'gcloud http log',
    drawOpaque,
    "== headers ==\nb'authorization': b'Bearer §'",
  ],
  [
    'URLs and forms',
    'signed URL',
    pattern('{x512}'),
    'GET /b/k?X-Goog-Expires=60&X-Goog-Signature=§',
  ],
  ['headers in text', 'API key header', drawOpaque, 'POST /v1/models x-goog-api-key: §'],
])

const AZURE = lineScenes('Azure SDK', 'message', [
  ['URLs and forms', 'SAS', pattern('{a43}%3D'), 'GET /c/b?sv=2022-11-02&sr=b&sig=§&se=2024-09-15'],
  ['headers in text', 'SharedKey', pattern('{b43}='), 'Authorization: SharedKey acme:§'],
  ['headers in text', 'api-key', pattern('{x32}'), "Request headers:\n    'api-key': '§'"],
  ['headers in text', 'subscription key', pattern('{x32}'), 'Ocp-Apim-Subscription-Key: §'],
])

const MODELS = [
  ...lineScenes('language models', 'message', [
    ['dumps in text', 'Python repr', drawKey, "ChatModel(model='m-1', api_key='§', temperature=0)"],
    ['dumps in text', 'httpx headers', drawOpaque, "[(b'host', b'api'), (b'x-api-key', b'§')]"],
    [
      'headers in text',
      'curl of the SDK',
      drawOpaque,
      "curl -X POST -H 'x-api-key: §' https://api",
    ],
    ['headers in text', 'Bearer behind a colon', drawOpaque, '"Authorization":"Bearer:§"'],
    ['headers in text', 'Bearer with a plus', drawOpaque, 'authorization=Bearer+§&model=m-1'],
    ['headers in text', 'lower case bearer', drawOpaque, 'upstream call with bearer §'],
  ]),
  ...scenes('language models', [
    [
      'JSON in strings',
      'arguments of a tool',
      drawPassword,
      (s) => ({ tool: 'sign_in', arguments: JSON.stringify({ user: 'jo', password: s }) }),
      [kept('user', 'jo')],
    ],
    [
      'names in events',
      'client options',
      drawOpaque,
      (s) => ({ model: 'm-1', usage: { total_tokens: 12 }, client: { openai_api_key: s } }),
      ['{"total_tokens":12}'],
    ],
  ]),
]

const PAIRS = scenes('pairs', [
  [
    'name and value pairs',
    'HAR headers',
    drawOpaque,
    (s) => ({
      headers: [
        { name: 'X-Api-Key', value: s },
        { name: 'Accept', value: '*/*' },
      ],
    }),
    ['{"name":"Accept","value":"*/*"}'],
  ],
  [
    'name and value pairs',
    'key and value',
    drawPassword,
    (s) => ({
      tags: [
        { key: 'db_password', value: s },
        { key: 'env', value: 'prod' },
      ],
    }),
    ['{"key":"env","value":"prod"}'],
  ],
  [
    'name and value pairs',
    'capitals',
    drawPassword,
    (s) => ({ ParameterOverrides: [{ Name: 'DBPassword', Value: s }] }),
  ],
  [
    'name and value pairs',
    'list of pairs',
    drawOpaque,
    (s) => ({
      headers: [
        ['host', 'api'],
        ['authorization', `Bearer ${s}`],
      ],
    }),
    ['["host","api"]'],
  ],
  [
    'name and value pairs',
    'CloudFormation parameter',
    drawPassword,
    (s) => ({ Parameters: [{ ParameterKey: 'MasterUserPassword', ParameterValue: s }] }),
  ],
  [
    'name and value pairs',
    'header lines in a list',
    drawBasic,
    (s) => ({ headers: ['Accept: */*', `Authorization: Basic ${s}`] }),
    ['"Accept: */*"'],
  ],
  [
    'name and value pairs',
    'OTLP attribute',
    drawOpaque,
    (s) => ({
      attributes: [{ key: 'http.request.header.authorization', value: { stringValue: s } }],
    }),
  ],
  [
    'name and value pairs',
    'list of assignments',
    drawOpaque,
    (s) => ({ environment: ['LANG=C', `API_TOKEN=${s}`, 'PORT=80'] }),
    ['"LANG=C"', '"PORT=80"'],
  ],
])

export const DATA_SCENES: readonly Scene[] = [
  ...POSTGRESQL,
  ...MYSQL,
  ...MONGODB,
  ...REDIS,
  ...QUEUES,
  ...SEARCH,
  ...MAIL,
  ...PAYMENT,
  ...AWS,
  ...GOOGLE,
  ...AZURE,
  ...MODELS,
  ...PAIRS,
]
