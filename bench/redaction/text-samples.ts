/**
 * Credentials that a text tells by their surroundings, and what looks like them and is none. `#` is
 * a token, `~` a password, `^` base64 of user and password: made at run time, nothing here is one.
 */
import type { Random } from '../random.ts'

const ALNUM = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const AUTH = 'Authorization'

function draw(random: Random, count: number): string {
  let text = `${random.below(10)}`
  while (text.length < count) text += ALNUM[random.below(ALNUM.length)]
  return text
}

/** Headers in what shows them. */
const HEADERS: readonly string[] = [
  ...'ApiKey Token Bot Splunk GenieKey SSWS Negotiate Bearer OAuth Key'
    .split(' ')
    .map((scheme) => `${AUTH}: ${scheme} #`),
  `${AUTH}: #`,
  `${AUTH}: Basic ^`,
  `proxy-${AUTH.toLowerCase()}: Basic ^`,
  `${AUTH}: Digest username="u", realm="r", nonce="n", uri="/", response="#"`,
  `${AUTH}: AWS4-HMAC-SHA256 Credential=x/20250101/eu-west-1/s3/aws4_request, Signature=#`,
  `${AUTH}: Signature keyId="k",algorithm="rsa-sha256",signature="#"`,
  `${AUTH}: Token token="#", nonce="x"`,
  `${AUTH}=Bearer #`,
  `${AUTH.toLowerCase()}=Bearer+#`,
  `${AUTH}: Bearer\t#`,
  `curl -H '${AUTH}: Token #' https://host/`,
  `{'${AUTH}': 'Token #'}`,
  `{"${AUTH}"=>"Token #"}`,
  `[${AUTH}:"ApiKey #"]`,
  `map[${AUTH}:[Token #]]`,
  `{"${AUTH.toLowerCase()}":"Token #"}`,
  '{\\"authorization\\":\\"Token #\\"}',
  '\\x22authorization\\x22:\\x22Token #\\x22',
  '%22authorization%22%3A%22Token%20#%22',
  'Bearer\t#',
  'Bearer: #',
  'Bearer "#"',
  'Bearer%20#',
  'x=Bearer+#',
  'auth: Basic ^',
  'auth="Basic ^"',
  'X-Api-Key: #',
  'x-api-key:#',
  'X-Vault-Token: #',
  'X-Auth-Token: #',
  'PRIVATE-TOKEN: #',
  "{'X-Api-Key': '#'}",
  'Cookie: theme=dark; sessionid=#',
  'Set-Cookie: sid=#; Path=/; HttpOnly',
]

const URLS: readonly string[] = [
  'https://bob@corp.example:~@host/x',
  'redis://:~@cache:6379',
  'url=https%3A%2F%2Fuser%3A~%40host%2F',
  'https%253A%252F%252Fuser%253A~%2540host',
  'postgres://app:ab/cd~@db:5432/x',
  ...'access_token api_key apikey token client_secret password passwd sig signature'
    .split(' ')
    .map((name) => `GET /x?a=b&${name}=#&c=d HTTP/1.1`),
  ...'X-Amz-Signature X-Amz-Security-Token X-Goog-Signature'
    .split(' ')
    .map((name) => `https://b.example/k?${name}=#`),
  'https://host/#access_token=#',
  'a=b&amp;token=#',
  'redirect=%2Fcb%3Faccess_token%3D#%26x%3Dy',
  'redirect=%252Fcb%253Faccess_token%253D#',
  'grant_type=password&client_secret=#',
  'grant_type=password&username=u&password=~',
  'password=~&username=u',
]

const CONNECTIONS: readonly string[] = [
  'jdbc:postgresql://h/db?user=u&password=~',
  'jdbc:sqlserver://h:1433;user=u;password=~',
  'jdbc:sqlserver://h;password=~;user=u',
  'jdbc:oracle:thin:u/~@h:1521/x',
  'Server=tcp:h,1433;User Id=u;Password=~;',
  'Server=h; Database=d; Password=~',
  'Driver={ODBC};Server=h;UID=u;PWD=~',
  'AccountName=a;AccountKey=#;EndpointSuffix=e',
  'host=h user=u password=~ dbname=d',
  'password=~ host=h',
  'user:~@tcp(host:3306)/db',
  'dsn=root:~@unix(/run/my.sock)/x',
]

const COMMANDS: readonly string[] = [
  'curl -u admin:~ https://host',
  'curl --user admin:~ https://host',
  "wget --user='admin:~' https://host",
  'mysql --password=~ -u root',
  'tool --token=#',
  'tool --api-key="#"',
  'java -Djavax.net.ssl.keyStorePassword=~ -jar x.jar',
  'export DB_PASSWORD=~',
  'GITHUB_TOKEN=#',
  'AWS_SECRET_ACCESS_KEY="#"',
  'PGPASSWORD=~ psql',
  "{'password': '~'}",
  '{:password=>"~"}',
]

/** After the name of a user, whatever that is called. */
const USERS: readonly string[] = [
  ...'username user_name userName login email principal account clientId'
    .split(' ')
    .map((user) => `LoginModule required ${user}="bob" password="~";`),
  'ScramLoginModule required password="~" username="bob";',
  'login username=bob, password=~',
  'user: bob, password: ~',
  'user = bob; password = ~',
  'password: ~, username: bob',
]

/** Names that say enough beside a value that nobody writes. */
const SETTINGS: readonly string[] = [
  'aws_secret_access_key = #',
  'aws_secret_access_key          = #',
  'AWS_SECRET_ACCESS_KEY: #',
  'client_secret: "#"',
  'client-secret: #',
  'apiToken = "#"',
  'spring.security.oauth2.client.client-secret=#',
  'db.access.token : #',
]

/** SQL has nothing between a name and its string. */
const SQL: readonly string[] = [
  "ATTACH 's3://b/x' AS x (TYPE iceberg, TOKEN '#')",
  "ATTACH 'md:x' (TOKEN '#')",
  "CREATE SECRET s (TYPE s3, KEY_ID 'k', SECRET '#', REGION 'eu')",
  "COPY t FROM 's3://b' (ACCESS_KEY_ID 'x', SECRET_ACCESS_KEY '#')",
  "CREATE USER bob WITH PASSWORD '~'",
  "alter role bob password '~' valid until 'infinity'",
  "CREATE USER bob IDENTIFIED BY '~'",
  "CREATE USER bob IDENTIFIED WITH sha256_password BY '~'",
  "CREATE USER MAPPING FOR x SERVER s OPTIONS (user 'bob', password '~')",
  "SET PASSWORD FOR bob = PASSWORD('~')",
]

/** Lines of configuration files: nothing else is on them. */
export const SETTING_LINES: readonly string[] = [
  'password = ~',
  'password: ~',
  '  password: "~"  // of the replica',
  "- smtp_password: '~'",
  'spring.datasource.password=~',
  'token = "#"',
  'secret: #',
  'export api_key=#',
  'requirepass: ~',
  'passphrase = ~;',
]

export const TEXT_CREDENTIALS: readonly string[] = [
  ...HEADERS,
  ...USERS,
  ...SETTINGS,
  ...SQL,
  ...URLS,
  ...CONNECTIONS,
  ...COMMANDS,
]

/** Twenty characters that are no word: with fewer digits, a few of a thousand look like one. */
function drawOpaque(random: Random): string {
  for (;;) {
    const text = draw(random, 20)
    if ((text.match(/[0-9]+/g)?.length ?? 0) >= 3) return text
  }
}

/** The text with secrets in their places. */
export function drawText(random: Random, text: string): string {
  const user = Buffer.from(`${random.pick(['u', 'admin'])}:${draw(random, 1 + random.below(9))}`)
  return text
    .replace(/#$|#(?=[^\w#])/g, () => drawOpaque(random))
    .replace('~', () => draw(random, 9))
    .replace('^', () => user.toString('base64'))
}

/** Masks, templates and prose, as texts that have to stay. */
export const TEXT_LOOK_ALIKES: readonly string[] = [
  'postgres://app:$(PASSWORD)@h/x',
  'postgres://app:%PASSWORD%@h/x',
  'postgres://app:%2A%2A%2A@h/x',
  'postgres://app:REDACTED@h/x',
  'postgres://app:[FILTERED]@h/x',
  'postgres://app:YOUR_PASSWORD@h/x',
  'postgres://app:<password>@h/x',
  'postgres://app:changeme@h/x',
  'https://user:password@host/',
  'https://u:XXXX-XXXX-XXXX@h/',
  'tcp://10.0.0.1:8080@16379',
  'http://host:8080@v2',
  'kafka://h1:9092,user@h2',
  'https://host:443/@writer/post',
  'git+ssh://git@github.com:org/repo9.git@v1.0',
  'url=https%3A%2F%2Fuser%3A%24%7BPASSWORD%7D%40host',
  'Basic 2.4.18.20231010',
  'Basic 1.2.3.4567890123.1',
  'basic auth: basic authentication',
  `${AUTH}: Bearer <token>`,
  `${AUTH}: Bearer $TOKEN`,
  `${AUTH}: required`,
  `${AUTH}: Basic realm="x"`,
  `${AUTH}: failed for user admin1 of tenant 42`,
  `${AUTH.toLowerCase()}: Bearer error="invalid_token"`,
  'Cookie: theme=dark; lang=en',
  'X-Api-Key: missing',
  'X-Api-Key: header is required',
  'token=Token{a64f992 ActivityRecord{de9231d u0}}',
  'sudo: bob : TTY=pts/0 ; PWD=/home/bob ; USER=root ; COMMAND=/bin/ls',
  'authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=10.0.0.1 user=root',
  'Failed password for root from 10.0.0.1 port 22 ssh2',
  'password: required',
  'error; password=',
  '/x?password=&token=null&api_key=YOUR_API_KEY',
  '/x?page_token=abc123def456&key=1&token=1',
  '--password=<password> --token=TOKEN --api-key=xxxx-xxxx',
  'docker run -u 1000:1000 image',
  'curl -u user:password https://host',
  'export DB_PASSWORD=$DB_PASSWORD',
  'DB_PASSWORD=/run/secrets/db',
  'Server=h;User Id=u;Password=********;',
  'host=h user=u password=xxx dbname=d',
  'user:password@tcp(host:3306)/db',
  'user=bob password=expired',
  'username: bob, password: incorrect',
  'user: bob, password: <hidden>',
  'LoginModule required username="bob" password="********";',
  'user bob password 2025-11-21 changed',
  'password: ok',
  'password: challengePassword',
  'def f(user: str, password: Optional[Str0ng])',
  'token = request.headers.token',
  'secret_key = settings.SECRET_KEY',
  'api_token = get_token(user1, "abc")',
  'client_secret: my-service-client-secret-1',
  'access_token: expired at 2025-11-21T10:00:00Z',
  'password = os.environ["PASSWORD"]',
  'let db_password = config::database::password2;',
  'secret_name = projects/p1/secrets/s1/versions/12',
  "secret 'default/web-tls-7f9c6d' not found",
  "unexpected (token 'kT9vQ2mX7bR4nL8w5zP1')",
  "select * from users where token = 'missing'",
  "replaced by 'hunter2x'",
  "CREATE USER bob IDENTIFIED BY 'password'",
  "COMMENT ON COLUMN users.password 'as a hash'",
  "password 'hunter2x' is too short",
]
