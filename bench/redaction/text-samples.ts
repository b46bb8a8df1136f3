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

export const TEXT_CREDENTIALS: readonly string[] = [
  ...HEADERS,
  ...URLS,
  ...CONNECTIONS,
  ...COMMANDS,
]

/** Twenty characters that are no word: with fewer digits, one in a thousand looks like one. */
function drawOpaque(random: Random): string {
  for (;;) {
    const text = draw(random, 20)
    if (text.replace(/[^0-9]/g, '').length >= 2) return text
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
]
