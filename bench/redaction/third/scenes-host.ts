/** Secrets in events of hosts: shells, sudo, audit, systemd, Windows, devices, and keys. */

import type { Random } from '../../random.ts'
import {
  drawBase64Pem,
  drawCutPem,
  drawJwt,
  drawPassword,
  drawPattern,
  drawToken,
  pattern,
  pem,
  type Secret,
} from './drawing.ts'
import { lineScenes, type Scene, scenes } from './scene.ts'

const drawAwsSecret = pattern('{b40}')

const SHELL = lineScenes('shell history', 'cmd', [
  ['command lines', 'export', drawAwsSecret, 'export AWS_SECRET_ACCESS_KEY=§'],
  ['command lines', 'PGPASSWORD', drawPassword, 'PGPASSWORD=§ psql -h db -U orders orders'],
  ['command lines', 'redis-cli -a', drawPassword, 'redis-cli -h cache -a § ping'],
  ['command lines', 'mysql -p', drawPassword, 'mysql -u root -p§ orders'],
  ['command lines', 'mysqldump --password', drawPassword, 'mysqldump --password=§ orders'],
  ['command lines', 'aws configure', drawAwsSecret, 'aws configure set aws_secret_access_key §'],
  ['command lines', 'openssl', drawPassword, 'openssl enc -aes-256-cbc -pass pass:§ -in a -out b'],
  ['command lines', 'ldapsearch', drawPassword, 'ldapsearch -x -D cn=admin,dc=acme -w § uid=jo'],
  ['command lines', 'wget', drawPassword, 'wget --user=jo --password=§ https://files.acme/a.tgz'],
  ['command lines', 'sqlcmd', drawPassword, 'sqlcmd -S db -U sa -P § -Q "select 1"'],
  ['command lines', 'mongosh', drawPassword, 'mongosh --username root --password § db/admin'],
  ['command lines', 'curl --user', drawPassword, "curl --user 'jo:§' https://api.acme.example"],
  ['headers in text', 'HTTPie header', drawToken, "http GET api.acme.example 'X-Api-Key:§'"],
  ['headers in text', 'curl Token', drawToken, 'curl -H "Authorization: Token §" https://api.acme'],
  ['command lines', 'smbclient', drawPassword, 'smbclient //nas/share -U deploy%§'],
  ['command lines', 'helm --set', drawPassword, 'helm install db ./c --set auth.rootPassword=§'],
  ['command lines', 'az login', drawPassword, 'az login --service-principal -u app --password §'],
  ['command lines', 'npm config', drawToken, 'npm config set //npm.acme/:_authToken §'],
])

const AUDIT = lineScenes('auditd', 'message', [
  [
    'command lines',
    'EXECVE curl',
    drawPassword,
    'type=EXECVE msg=audit(1726308672.1:42): argc=4 a0="curl" a1="-u" a2="jo:§" a3="https://x"',
  ],
  [
    'command lines',
    'EXECVE password',
    drawPassword,
    'type=EXECVE msg=audit(1726308672.1:43): argc=3 a0="mysqldump" a1="--password=§" a2="orders"',
  ],
  [
    'command lines',
    'sudo mysql',
    drawPassword,
    'sudo: jo : TTY=pts/0 ; PWD=/srv ; USER=root ; COMMAND=/usr/bin/mysql --password=§ orders',
  ],
  [
    'command lines',
    'sudo sh',
    drawToken,
    'sudo: jo : USER=root ; COMMAND=/bin/sh -c export API_TOKEN=§ && ./deploy.sh',
  ],
])

const SYSTEMD = [
  ...lineScenes('systemd', 'MESSAGE', [
    ['command lines', 'ExecStart', drawToken, 'ExecStart=/usr/bin/agent --api-key § --region eu'],
    ['pairs in text', 'Environment', drawToken, 'Environment=API_TOKEN=§'],
    ['pairs in text', 'environment file', drawPassword, 'DB_USER=orders\nDB_PASSWORD="§"\n'],
  ]),
  ...scenes('systemd', [
    [
      'command lines',
      'journal command line',
      drawToken,
      (s) => ({ _COMM: 'agent', _CMDLINE: `/usr/bin/agent --token=${s} --verbose` }),
    ],
  ]),
]

const WINDOWS = lineScenes('Windows', 'CommandLine', [
  [
    'command lines',
    'SecureString',
    drawPassword,
    'powershell $password = ConvertTo-SecureString "§" -AsPlainText -Force',
  ],
  ['command lines', 'cmdkey', drawPassword, 'cmdkey /generic:files /user:deploy /pass:§'],
  ['command lines', 'schtasks', drawPassword, 'schtasks /create /tn sync /ru deploy /rp §'],
  ['command lines', 'setx', drawToken, 'setx GITHUB_TOKEN "§"'],
])

const DEVICES = [
  ...lineScenes('devices', 'log', [
    ['pairs in text', 'Wi-Fi', drawPassword, 'I (812) wifi: ssid=Acme, password=§, channel=6'],
    ['pairs in text', 'wpa_supplicant', drawPassword, 'network={\n\tssid="Acme"\n\tpsk="§"\n}'],
    ['pairs in text', 'MQTT connect', drawPassword, 'mqtt: CONNECT client=dev-7 user=d password=§'],
    ['URLs and forms', 'MQTT URL', drawPassword, 'connecting to mqtts://dev-7:§@mq.acme:8883'],
    [
      'connection strings',
      'IoT hub',
      pattern('{b43}='),
      'HostName=acme.azure-devices.net;DeviceId=dev-7;SharedAccessKey=§',
    ],
    [
      'URLs and forms',
      'SharedAccessSignature',
      pattern('{a40}%3D'),
      'SharedAccessSignature sr=acme.azure-devices.net&sig=§&se=1757844672',
    ],
  ]),
  ...scenes('devices', [
    [
      'JSON in strings',
      'provisioning',
      drawPassword,
      (s) => ({ payload: JSON.stringify({ ssid: 'Acme', psk: s, channel: 6 }) }),
      ['\\"ssid\\":\\"Acme\\"', '\\"channel\\":6'],
    ],
  ]),
]

function drawUnsignedJwt(random: Random): Secret {
  const { text, cores } = drawJwt(random)
  return { text: text.slice(0, text.lastIndexOf('.') + 1), cores: cores.slice(0, 1) }
}

function drawBase64Jwt(random: Random): Secret {
  const text = Buffer.from(drawJwt(random).text).toString('base64')
  // What stands behind the encoded head.
  return { text, cores: [text.slice(60, -8)] }
}

/** Five parts: head, key, initialization vector, text, tag. */
function drawJwe(random: Random): Secret {
  const head = Buffer.from('{"alg":"RSA-OAEP","enc":"A256GCM"}').toString('base64url')
  return drawPattern(random, `${head}.{u342}.{u16}.{u180}.{u22}`)
}

const KEYS = [
  ...lineScenes('keys', 'message', [
    ['keys and JWTs', 'PEM', pem('\n'), 'loaded key:\n§\nready'],
    ['keys and JWTs', 'PEM with CRLF', pem('\r\n'), '§\r\n'],
    ['keys and JWTs', 'PEM, line feeds written out', pem('\\n'), 'SSH_KEY="§\\n"'],
    ['keys and JWTs', 'PEM on one line', pem(' '), 'key: § end'],
    ['keys and JWTs', 'PEM indented in YAML', pem('\n      '), 'tls:\n    key: |\n      §\n'],
    ['keys and JWTs', 'PEM that was cut', drawCutPem, 'reading §'],
    ['keys and JWTs', 'PEM in base64', drawBase64Pem, 'kubeconfig client key §'],
    ['keys and JWTs', 'JWT', drawJwt, 'verifying § failed: unknown kid'],
    ['keys and JWTs', 'JWT in a query', drawJwt, 'GET /files/7?jwt=§&v=2 HTTP/1.1'],
    ['keys and JWTs', 'JWT in a cookie', drawJwt, 'cookie: lang=de; session=§; theme=dark'],
    ['keys and JWTs', 'JWT without signature', drawUnsignedJwt, 'alg none refused: "§"'],
    ['keys and JWTs', 'JWT in base64', drawBase64Jwt, 'state=§'],
    ['keys and JWTs', 'JWE', drawJwe, 'next-auth cookie was "§"'],
  ]),
  ...scenes('keys', [
    [
      'keys and JWTs',
      'service account file',
      pem('\n'),
      (s) => ({ message: JSON.stringify({ type: 'service_account', note: s, project: 'acme' }) }),
      ['\\"project\\":\\"acme\\"'],
    ],
    ['keys and JWTs', 'PEM as a value', pem('\n'), (s) => ({ cfg: { pemText: s, bits: 2048 } })],
    ['keys and JWTs', 'JWT as a value', drawJwt, (s) => ({ ctx: { raw: s, ok: true } })],
  ]),
]

export const HOST_SCENES: readonly Scene[] = [
  ...SHELL,
  ...AUDIT,
  ...SYSTEMD,
  ...WINDOWS,
  ...DEVICES,
  ...KEYS,
]
