/** Secrets in events of CI, containers, clusters, and of tools that set systems up. */
import { drawBasic, drawPassword, drawToken, pattern } from './drawing.ts'
import { kept, lineScenes, type Scene, scenes } from './scene.ts'

const drawOpaque = pattern('{u43}', '{a32}', '{x40}')

const GITHUB = lineScenes('GitHub Actions', 'message', [
  [
    'headers in text',
    'checkout extraheader',
    drawBasic,
    'git config http.https://github.com/.extraheader AUTHORIZATION: basic §',
  ],
  ['pairs in text', 'environment of a step', drawPassword, 'env:\n  CI: true\n  DB_PASSWORD: §\n'],
  ['pairs in text', 'set-output', drawToken, '::set-output name=registry_token::§'],
  ['command lines', 'echo to GITHUB_ENV', drawToken, 'Run echo "DEPLOY_TOKEN=§" >> $GITHUB_ENV'],
  [
    'URLs and forms',
    'clone',
    drawToken,
    "Cloning into 'orders'... https://x-access-token:§@github.com/acme/orders.git",
  ],
])

const GITLAB = lineScenes('GitLab CI', 'message', [
  [
    'URLs and forms',
    'fetch',
    drawToken,
    'git fetch https://gitlab-ci-token:§@git.acme.example/acme/orders.git',
  ],
  ['command lines', 'docker login', drawPassword, '$ docker login -u ci -p § images.acme.example'],
  ['command lines', 'export', drawPassword, '$ export DEPLOY_PASSWORD="§"'],
  ['headers in text', 'curl', drawToken, '$ curl --header "PRIVATE-TOKEN: §" https://git.acme/api'],
  [
    'headers in text',
    'job token',
    drawToken,
    '$ curl -H "JOB-TOKEN: §" -T a.tgz https://git.acme/p',
  ],
])

const JENKINS = lineScenes('Jenkins', 'log', [
  [
    'command lines',
    'curl user',
    drawPassword,
    '+ curl -sf -u deploy:§ https://ci.acme.example/api',
  ],
  ['command lines', 'system property', drawPassword, '+ mvn deploy -Dmaven.password=§ -B'],
  ['command lines', 'sonar', drawToken, '+ sonar-scanner -Dsonar.token=§ -Dsonar.projectKey=o'],
  ['command lines', 'traced export', drawPassword, '+ export NEXUS_PASSWORD=§'],
  ['command lines', 'traced assignment', drawToken, '+ API_TOKEN=§\n+ ./deploy.sh'],
])

const DOCKER = [
  ...lineScenes('Docker', 'log', [
    ['command lines', 'run -e', drawPassword, 'docker run -d -e MYSQL_ROOT_PASSWORD=§ mysql:8'],
    ['command lines', 'build-arg', drawToken, 'docker build --build-arg NPM_TOKEN=§ -t orders .'],
    ['pairs in text', 'printed environment', drawPassword, 'HOME=/app\nREDIS_PASSWORD=§\nPORT=80'],
  ]),
  ...scenes('Docker', [
    [
      'name and value pairs',
      'inspect',
      drawPassword,
      (s) => ({
        Config: { Image: 'postgres:16', Env: ['PGDATA=/data', `POSTGRES_PASSWORD=${s}`] },
      }),
      ['"PGDATA=/data"'],
    ],
    [
      'JSON in strings',
      'config.json',
      drawBasic,
      (s) => ({ message: JSON.stringify({ auths: { 'images.acme.example': { auth: s } }, v: 7 }) }),
      [kept('v', 7)],
    ],
    [
      'JSON in strings',
      'cut by the log driver',
      drawPassword,
      (s) => ({
        log: JSON.stringify({ lvl: 'debug', user: { password: s }, at: 'sign-in' }).slice(0, -6),
        stream: 'stdout',
      }),
      [kept('lvl', 'debug')],
    ],
  ]),
]

const KUBERNETES = [
  ...lineScenes('Kubernetes', 'message', [
    [
      'headers in text',
      'kubectl -v=9',
      drawOpaque,
      'curl -v -XGET -H "Accept: */*" -H "Authorization: Bearer §" \'https://10.0.0.1/api\'',
    ],
    [
      'command lines',
      'kubeadm join',
      pattern('{l6}.{l16}'),
      'kubeadm join 10.0.0.1:6443 --token §',
    ],
    [
      'pairs in text',
      'manifest',
      pattern('{a24}{a16}'),
      'apiVersion: v1\nkind: Secret\nstringData:\n  password: §\n',
    ],
  ]),
  ...scenes('Kubernetes', [
    [
      'name and value pairs',
      'environment of a container',
      drawPassword,
      (s) => ({
        spec: {
          containers: [
            {
              name: 'orders',
              env: [
                { name: 'MODE', value: 'fast' },
                { name: 'DB_PASSWORD', value: s },
              ],
            },
          ],
        },
      }),
      ['{"name":"MODE","value":"fast"}'],
    ],
    [
      'command lines',
      'arguments of a container',
      drawPassword,
      (s) => ({ container: { args: ['serve', '--db-password', s, '--port', '80'] } }),
    ],
    [
      'command lines',
      'argument with equals',
      drawToken,
      (s) => ({ container: { args: ['serve', `--api-token=${s}`, '--port=80'] } }),
    ],
    [
      'names in events',
      'audited secret',
      drawToken,
      (s) => ({
        verb: 'create',
        objectRef: { resource: 'secrets', name: 'orders-db' },
        requestObject: { kind: 'Secret', stringData: { password: s } },
      }),
    ],
    [
      'JSON in strings',
      'last applied configuration',
      drawPassword,
      (s) => ({
        annotations: {
          applied: JSON.stringify({ kind: 'Secret', stringData: { 'db-password': s } }),
        },
      }),
      [kept('kind', 'Secret')],
    ],
  ]),
]

const TERRAFORM = [
  ...lineScenes('Terraform', 'message', [
    [
      'headers in text',
      'provider trace',
      drawOpaque,
      'Host: api.acme\r\nAuthorization: Bearer §\r\n',
    ],
    [
      'headers in text',
      'OpenStack trace',
      drawOpaque,
      'OpenStack Request Headers:\nX-Auth-Token: §',
    ],
    ['pairs in text', 'plan', drawPassword, '      + engine = "mysql"\n      + password = "§"\n'],
    ['command lines', '-var', drawPassword, 'terraform apply -auto-approve -var db_password=§'],
    ['pairs in text', 'outputs', drawPassword, 'Outputs:\n\nadmin_password = "§"\nregion = "eu"'],
  ]),
  ...scenes('Terraform', [
    [
      'JSON in strings',
      'state',
      drawPassword,
      (s) => ({ body: JSON.stringify({ attributes: { engine: 'mysql', password: s } }) }),
      ['\\"engine\\":\\"mysql\\"'],
    ],
  ]),
]

const ANSIBLE = [
  ...lineScenes('Ansible', 'message', [
    [
      'command lines',
      'extra variable',
      drawPassword,
      'ansible-playbook a.yml -e ansible_password=§',
    ],
    ['command lines', 'sshpass', drawPassword, 'sshpass -p § ssh deploy@10.0.3.7 uptime'],
    ['dumps in text', 'diff', drawPassword, '--- before\n+++ after\n-x=1\n+db_password: §\n'],
  ]),
  ...scenes('Ansible', [
    [
      'names in events',
      'module arguments',
      drawPassword,
      (s) => ({ task: 'add user', invocation: { module_args: { name: 'jo', login_password: s } } }),
    ],
    [
      'JSON in strings',
      'failed task',
      drawPassword,
      (s) => ({
        msg: `fatal: [db-1]: FAILED! => ${JSON.stringify({
          changed: false,
          invocation: { module_args: { login_password: s } },
        })}`,
      }),
      [kept('changed', false)],
    ],
  ]),
]

const VAULT = [
  ...lineScenes('Vault', 'message', [
    ['pairs in text', 'dev server', pattern('hvs.{a24}'), 'Unseal Key: none\nRoot Token: §\n'],
    ['headers in text', 'curl', drawOpaque, 'curl -H "X-Vault-Token: §" https://vault.acme/v1/kv'],
    ['command lines', 'login', drawOpaque, 'vault write auth/userpass/login/jo password=§'],
  ]),
  ...scenes('Vault', [
    [
      'JSON in strings',
      'read secret',
      drawPassword,
      (s) => ({ line: JSON.stringify({ type: 'response', data: { data: { db_password: s } } }) }),
      [kept('type', 'response')],
    ],
    [
      'names in events',
      'audit',
      drawOpaque,
      (s) => ({
        type: 'request',
        request: { path: 'kv/data/a', headers: { 'x-vault-token': [s] } },
      }),
    ],
  ]),
]

const SERVERLESS = [
  ...lineScenes('serverless', 'message', [
    ['dumps in text', 'process.env', drawPassword, "{ NODE_ENV: 'prod', DB_PASSWORD: '§' }"],
    ['dumps in text', 'os.environ', drawPassword, "environ({'LANG': 'C', 'DB_PASSWORD': '§'})"],
  ]),
  ...scenes('serverless', [
    [
      'JSON in strings',
      'API event',
      drawOpaque,
      (s) => ({
        message: `EVENT: ${JSON.stringify({ path: '/v1', headers: { 'x-api-key': s } })}`,
      }),
      [kept('path', '/v1')],
    ],
    [
      'JSON in strings',
      'body inside the event',
      drawPassword,
      (s) => ({
        message: JSON.stringify({ path: '/login', body: JSON.stringify({ password: s }) }),
      }),
      [kept('path', '/login')],
    ],
    [
      'names in events',
      'function configuration',
      drawPassword,
      (s) => ({ FunctionName: 'orders', Environment: { Variables: { DB_PASSWORD: s } } }),
    ],
  ]),
]

export const BUILD_SCENES: readonly Scene[] = [
  ...GITHUB,
  ...GITLAB,
  ...JENKINS,
  ...DOCKER,
  ...KUBERNETES,
  ...TERRAFORM,
  ...ANSIBLE,
  ...VAULT,
  ...SERVERLESS,
]
