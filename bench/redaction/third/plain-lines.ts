/** Lines of logs that speak of secrets and hold none. One a line; in braces what is drawn. */

const SIGN_IN = `
password authentication failed for user "orders"
Access denied for user 'orders'@'10.0.3.7' (using password: YES)
FATAL: no pg_hba.conf entry for host "10.0.3.7", user "orders", database "orders", SSL off
ERROR: invalid password for user m.ortiz after 3 attempts
Invalid username or password
The password must be at least 12 characters and contain a digit
password: too short (minimum is 12 characters)
Password changed for user 1842
Password reset requested for m***@acme.example
Password reset mail sent to user 1842, link expires in 30 minutes
user 1842 signed in with password and otp
sshd[812]: Failed password for invalid user admin from 203.0.113.9 port 52144 ssh2
sshd[812]: Accepted password for deploy from 203.0.113.9 port 52144 ssh2
sshd[812]: Accepted publickey for deploy from 203.0.113.9 port 52144 ssh2: ED25519 SHA256:{b43}
sshd[812]: Postponed keyboard-interactive for deploy from 203.0.113.9 port 52144 ssh2 [preauth]
sshd[812]: pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh
sshd[812]: error: Could not load host key: /etc/ssh/ssh_host_ed25519_key
sudo: pam_unix(sudo:auth): conversation failed
sudo: deploy : 3 incorrect password attempts ; TTY=pts/0 ; PWD=/srv ; USER=root ; COMMAND=/bin/ls
su: pam_unix(su:session): session opened for user postgres(uid=105) by deploy(uid=1000)
passwd[911]: pam_unix(passwd:chauthtok): password changed for deploy
systemd-logind[601]: New session 1842 of user deploy.
login[77]: FAILED LOGIN (1) on '/dev/tty1' FOR 'root', Authentication failure
vsftpd: [deploy] FAIL LOGIN: Client "203.0.113.9"
dovecot: imap-login: Disconnected (auth failed, 1 attempts): user=<m.ortiz>, method=PLAIN
postfix/smtpd[812]: warning: unknown[203.0.113.9]: SASL LOGIN authentication failed
saslauthd[312]: do_auth : auth failure: [user=deploy] [service=smtp] [realm=] [mech=pam]
krb5kdc[19]: AS_REQ (4 etypes {18 17 20 19}) 10.0.3.7: NEEDED_PREAUTH: deploy@ACME.EXAMPLE
User m.ortiz authenticated via SAML, session expires in 28800 seconds
LDAP bind as cn=svc,dc=acme,dc=example succeeded
two-factor code sent by sms to number ending in 42
OTP code accepted for user 1842
PIN verification enabled for device 7
remember-me cookie set for user 1842, max age 1209600
CSRF token missing or incorrect
Invalid CSRF Token 'null' was found on the request parameter '_csrf' or header 'X-CSRF-TOKEN'.
Can't verify CSRF token authenticity.
CSRF verification failed. Request aborted.
Forbidden (CSRF cookie not set.): /account/login/
ActionController::InvalidAuthenticityToken (ActionController::InvalidAuthenticityToken):
The provided anti-forgery token was meant for a different claims-based user.
JWT expired at 2024-09-14T10:11:12Z. Current time: 2024-09-14T10:12:12Z
JsonWebTokenError: invalid signature
JsonWebTokenError: jwt malformed
TokenExpiredError: jwt expired
jwt.exceptions.ExpiredSignatureError: Signature has expired
SignatureDoesNotMatch: The request signature we calculated does not match the signature you provided
InvalidAccessKeyId: The AWS Access Key Id you provided does not exist in our records.
ExpiredToken: The security token included in the request is expired
UnrecognizedClientException: The security token included in the request is invalid.
NoCredentialProviders: no valid providers in chain. Deprecated.
Unable to locate credentials. You can configure credentials by running "aws configure".
Found credentials in environment variables.
Found credentials from IAM Role: orders-task
botocore.credentials: Looking for credentials via: assume-role
DefaultAzureCredential failed to retrieve a token from the included credentials.
AADSTS7000215: Invalid client secret provided. Ensure the secret being sent is the secret value.
invalid_grant: Token has been expired or revoked.
invalid_client: Client authentication failed
error="invalid_token", error_description="The access token expired"
WWW-Authenticate: Bearer realm="api", error="invalid_token", error_description="The token expired"
WWW-Authenticate: Basic realm="Restricted"
www-authenticate: Bearer authorization_uri="https://login.acme.example/common/oauth2/authorize"
WWW-Authenticate: Digest realm="acme", qop="auth", algorithm=SHA-256, stale=false
Authorization header is missing
Authorization: Bearer token is required
Authorization: <redacted>
Authorization: [FILTERED]
authorization header must start with Bearer
Cookie header too large: 16412 bytes
Set-Cookie header of upstream dropped
`

const TOOLS = `
Using token from environment variable GITHUB_TOKEN
GITHUB_TOKEN is not set, rate limits apply
warning: VAULT_TOKEN is not set
env: GITHUB_TOKEN: ***
  token: ***
  password: ***
Run echo "$NPM_TOKEN" | docker login -u acme --password-stdin
docker login -u acme --password-stdin registry.example
Login Succeeded
WARNING! Using --password via the CLI is insecure. Use --password-stdin.
mysql: [Warning] Using a password on the command line interface can be insecure.
Warning: Using a password with '-a' or '-u' option on the command line interface may not be safe.
mysql -u orders -p orders
psql -U orders -W -h db orders
curl -H "Authorization: Bearer $TOKEN" https://api.acme.example/v1/orders
curl -u "$API_USER:$API_PASSWORD" https://api.acme.example/v1/orders
helm upgrade orders ./chart --set image.tag=1.27.4 --set db.passwordSecret=orders-db
kubectl create secret generic orders-db --from-file=pw.txt
kubectl get secret orders-db -n orders -o name
terraform apply -var-file=prod.tfvars
db_password = (sensitive value)
# aws_db_instance.orders will be updated in-place
ansible-playbook site.yml --ask-vault-pass --ask-become-pass
BECOME password:
TASK [mysql : set root password] *****************************************
changed: [db-1] => (censored due to no_log: true)
no_log: the output has been hidden due to the fact that 'no_log: true' was specified
vault kv get -field=password kv/orders/db
Success! Data written to: kv/data/orders/db
secrets engine enabled at: kv/
core: successfully mounted: type=kv version="v0.16.1" path=secret/ namespace="ID: root. Path: "
expiration: revoked lease: lease_id=auth/kubernetes/login/{x64}
token lookup: policies=["default"] ttl=768h
git push https://github.com/acme/orders.git main
remote: Invalid username or password.
fatal: could not read Password for 'https://deploy@git.acme.example': terminal prompts disabled
fatal: Authentication failed for 'https://git.acme.example/orders.git/'
npm error code E401
npm warn config _auth is deprecated
npm notice Publishing to the registry with tag latest and public access
gpg: signing failed: No secret key
gpg: key {X16}: secret key imported
gpg: using RSA key {X40}
ssh-keygen -t ed25519 -f /home/deploy/.ssh/id_ed25519 -N ""
Your public key has been saved in /home/deploy/.ssh/id_ed25519.pub
The key fingerprint is: SHA256:{b43} deploy@bastion
openssl req -new -key site.key -out site.csr
certbot: Successfully received certificate. Key is saved at: /etc/letsencrypt/live/acme/privkey.pem
nginx: [emerg] cannot load certificate key "/etc/ssl/private/site.key": no such file
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE REQUEST-----
no line starts with BEGIN RSA PRIVATE KEY in /etc/ssl/private/site.key
expected a PEM block of type PRIVATE KEY, got CERTIFICATE
Step 4/12 : ARG NPM_TOKEN
 ---> Running in {x12}
#11 [build 4/9] RUN --mount=type=secret,id=npm npm ci
Digest: sha256:{x64}
Status: Downloaded newer image for acme/orders:1.27.4
Pulling image "acme/orders@sha256:{x64}"
MountVolume.SetUp failed for volume "db" : secret "orders-db" not found
Failed to pull image: no basic auth credentials
Error: secret "orders-db" not found
couldn't find key password in Secret orders/orders-db
Created secret/orders-db
Masking variable DB_PASSWORD
Setting secret GIT_TOKEN
Checking out {x40} as detached HEAD (ref is refs/merge-requests/7/head)...
HEAD is now at {x7} rotate signing key id
[Pipeline] withCredentials
Masking supported pattern matches of $DOCKER_PASSWORD
##[debug]Evaluating condition for step: 'login'
`

const DATA = `
connecting to postgres://orders@db.acme.example:5432/orders
connecting to postgres://db.acme.example:5432/orders?sslmode=require
connecting to postgresql://orders:***@db.acme.example/orders
connecting to postgres://orders:[REDACTED]@db.acme.example/orders
connecting to mysql://orders:****@db/orders
connecting to mongodb://db-0:27017,db-1:27017/?replicaSet=rs0
connecting to mongodb+srv://orders@cluster0.acme.example/orders
connecting to redis://cache:6379/0
connecting to amqp://mq.acme.example:5672/orders
connecting to amqp://guest:$(MQ_PASSWORD)@mq:5672/
connecting to redis://:%REDIS_PASSWORD%@cache:6379
connecting to https://YOUR_USER:YOUR_TOKEN@git.acme.example/
connecting to kafka://broker-1:9092,broker-2:9092
jdbc:postgresql://db.acme.example:5432/orders?user=orders&ssl=true
jdbc:mysql://db:3306/orders?useSSL=true&serverTimezone=UTC
Server=db;Database=orders;Integrated Security=SSPI;Encrypt=true
Server=tcp:db,1433;Database=orders;Authentication=Active Directory Default
host=db port=5432 dbname=orders user=orders sslmode=verify-full
DSN orders:***@tcp(db:3306)/orders
DefaultEndpointsProtocol=https;AccountName=acme;EndpointSuffix=core.windows.net
Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=RootManageSharedAccessKey
password_encryption = scram-sha-256
ALTER ROLE orders WITH LOGIN PASSWORD '********'
CREATE USER 'orders'@'%' IDENTIFIED WITH 'caching_sha2_password' AS <secret>
GRANT SELECT ON orders.* TO 'orders'@'%'
SELECT id, password_digest FROM users WHERE email = $1 LIMIT 1
UPDATE users SET password = ? WHERE id = ?
SELECT token, expires_at FROM sessions WHERE user_id = 1842
DELETE FROM sessions WHERE token = :token
INSERT INTO api_keys (id, name, secret_hash) VALUES ($1, $2, $3)
duplicate key value violates unique constraint "orders_pkey"
Key (email)=(m.ortiz@acme.example) already exists.
NOAUTH Authentication required.
WRONGPASS invalid username-password pair or user is disabled.
redis: AUTH failed: WRONGPASS
1:M 14 Sep 2024 10:11:12.044 * Ready to accept connections tcp
LOG: connection authorized: user=orders database=orders SSL enabled
LOG: connection authenticated: identity="orders" method=scram-sha-256
[Note] Plugin caching_sha2_password reported: 'Server upgraded Public key'
"mechanism":"SCRAM-SHA-256","result":"AuthenticationFailed"
kafka: SASL handshake error: unsupported mechanism PLAIN
rabbit: user 'orders' authenticated and granted access to vhost '/'
rabbit: PLAIN login refused: user 'orders' - invalid credentials
mqtt: client dev-42 disconnected: bad user name or password (4)
`

const TRAFFIC = `
GET /v1/tokens?page=2 HTTP/1.1 200
GET /account/password/reset HTTP/2 200 4ms
POST /oauth/token 400 invalid_grant
POST /oauth2/token HTTP/1.1 200 client=web grant_type=authorization_code
GET /login?next=/account/password HTTP/1.1 302
GET /search?q=password+manager HTTP/1.1 200
GET /v1/secrets/orders-db/versions HTTP/1.1 403
GET /files?token_count=12&sort=key HTTP/1.1 200
GET /list?page_token=3&max=50 HTTP/1.1 200
GET /list?continuation-token=page-7 HTTP/1.1 200
GET /static/app.{x8}.js?v={x20} HTTP/1.1 304
GET /img/{x64}.webp HTTP/1.1 200 etag="{x32}"
GET /v2/acme/orders/blobs/sha256:{x64} HTTP/1.1 200
GET /users/{g}/sessions HTTP/1.1 200
GET http://[2001:db8::7]:8080/healthz 200
GET https://api.acme.example:8443/v1/orders@latest 200
GET https://maps.example/@52.5,13.4,12z HTTP/1.1 200
proxy https://medium.example/@jlee/post-{x12} 200
fetch https://cdn.example/npm/@scope/pkg@1.2.3/dist/index.js
connect tcp://10.0.3.7:5432 user@host
mailto:m.ortiz@acme.example?subject=password
contact ops@acme.example: port 8080
git@github.com:acme/orders.git
ssh://git@git.acme.example:2222/acme/orders.git
ftp://ftp.acme.example/pub/keys.asc
x-request-id: {g}
x-amzn-trace-id: Root=1-{x8}-{x24}
traceparent: 00-{x32}-{x16}-01
etag: "{x32}"
if-none-match: W/"{x32}"
sec-websocket-accept: {b27}=
content-security-policy: script-src 'nonce-{b22}=='
access-control-allow-headers: Authorization, X-Api-Key, Cookie, X-CSRF-Token
access-control-expose-headers: X-Auth-Token
vary: Origin, Cookie, Authorization
access-control-allow-credentials: true
proxy_set_header Authorization "";
proxy_pass_header Set-Cookie;
x-ratelimit-remaining-tokens: 149871
Basic 1.27.4 release of the agent
Basic authentication enabled for /admin
Basic plan renewed for customer 1842
Bearer authentication is required for this route
bearer of bad news: queue is full
the Token bucket refilled 200 in 1s
prompt tokens: 812, completion tokens: 196, total tokens: 1008
Unexpected token < in JSON at position 0
SyntaxError: Unexpected token '}'
tokenizer.json loaded, vocab 50257, special tokens 12
max_tokens=4096 temperature=0.2 stop=["\\n\\n"]
model=gpt-4o-mini tokens=1008 cost=0.0003
rate limit reached for tokens per min. Limit: 200000 / min. Current: 198422
stripe: webhook signature verification failed
stripe: customer cus_{a14} charged, charge ch_3{a23}
card ending 4242 declined: insufficient_funds
No API key provided. Set your API key in the header X-Api-Key.
Incorrect API key provided: sk-proj-****{a4}. You can find your API key in your account.
API key not valid. Please pass a valid API key.
api_key is required
keys start with sk_live_ or rk_live_
token prefix ghp_ recognised, length 40
secret scanning found 0 secrets in 1842 files
rotated signing key sig-2024-09, next sig-2024-12
cache key v2/products/1842 missed
apiVersion: v1, kind: Secret, type: Opaque
loaded 14 secrets from /run/secrets
credential helper osxkeychain not found
cookie consent: accepted
session 1842 closed after 840 s
`

/** Each line once. */
export const PLAIN_LINES: readonly string[] = [SIGN_IN, TOOLS, DATA, TRAFFIC].flatMap((text) =>
  text.split('\n').filter((line) => line !== ''),
)
