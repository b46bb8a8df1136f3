/**
 * The words in names of secrets, as data for `secret-names.ts`. Lower case, each one word of a
 * name, or two of them written together.
 */
function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/))
}

/** Whole names, as they were from the beginning: any value but null is redacted. */
export const DENYLISTED_SEGMENTS = words(`
  password passwd pwd passphrase secret clientsecret secretkey token accesstoken refreshtoken
  idtoken authtoken sessiontoken bearertoken apikey apisecret xapikey authorization
  proxyauthorization cookie setcookie xauthtoken xcsrftoken xamzsecuritytoken csrftoken
  xsrftoken privatekey signingkey encryptionkey accesskey secretaccesskey awssecretaccesskey
  credential credentials connectionstring dbpassword databasepassword mysqlpwd pgpassword
  creditcard cardnumber cvv cvc ssn socialsecuritynumber pin otp sessionid phpsessid jsessionid`)

/** A name that ends in one of these holds a secret. The languages are those of form fields. */
export const SECRET_WORDS = words(`
  password passwd pwd pswd psw passphrase passcode passkey secret token credential credentials
  creds apikey authorization cookie cvv cvc csc ssn otp totp hotp psk preshared jwt jwk
  webhooksecret
  passwort kennwort senha contrasena contraseña motdepasse mdp wachtwoord parola haslo hasło heslo
  salasana losenord lösenord adgangskode sifre şifre пароль 密码 パスワード 비밀번호
  mysqlpwd userpwd bindpw rootpw adminpw userpw dbpw smtppw ldappw authpw
  userpass dbpass smtppass mysqlpass pgpass adminpass rootpass ftppass mailpass authpass keypass
  storepass sshpass dbuserpass sudopass becomepass requirepass masterauth basicauth httpauth
  writekey readkey appkey authkey masterkey signingkey encryptionkey accountkey sharedkey secretkey
  accesskey privatekey privkey fernetkey
  dockerconfigjson dockercfg aspxauth sessid phpsessid jsessionid cfid puk ccnum cardno cardnum
  ccnumber cardnumber creditcard`)

/** The same of several: a number under such a name is a count. */
export const PLURALS: ReadonlyMap<string, string> = new Map(
  [
    'passwords:password passwds:passwd pwds:pwd passphrases:passphrase passcodes:passcode',
    'secrets:secret tokens:token apikeys:apikey cookies:cookie jwts:jwt otps:otp',
  ]
    .join(' ')
    .split(' ')
    .map((pair): [string, string] => [pair.split(':')[0]!, pair.split(':')[1]!]),
)

/** Ends of words that were written together: `newpassword`, `usertoken`. */
export const SECRET_END_WORDS = words(`
  password passwd passphrase passwort secret token credential credentials connectionstring apikey
  secretkey privatekey accesskey signingkey encryptionkey`)

/** Two last words, which alone say nothing. */
export const SECRET_PAIRS = words(`
  passphrase passcode passwd password passkey passwort apikey
  creditcard cardnumber cardno cardnum ccnumber ccnum ccno securitycode securitynumber
  verificationvalue
  sessionid sessid sessionkey sessionkeys
  connectionstring connectionstrings connstring connstr
  clientassertion samlresponse samlassertion jwtassertion codeverifier oauthverifier tokenhint
  seedphrase recoveryphrase mnemonicphrase walletmnemonic
  recoverycode recoverycodes backupcode backupcodes scratchcodes verificationcode mfacode otpcode
  totpcode smscode facode factorcode authcode authorizationcode devicecode accesscode unlockcode
  onetimecode timecode magiccode
  secretanswer securityanswer communitystring snmpcommunity jaasconfig
  authheader authorizationheader cookieheader accesssignature authconfig
  authsalt insalt noncesalt hashsalt passwordsalt secretsalt cookiesalt passwordpepper
  authassertion accountjson privatepem keypem depasse laravelsession gitlabsession
  cisession storedpw pinblock`)

/** Two words of which the first is the key of the object around: `{"api":{"key":…}}`. */
export const HOLDER_PAIRS = words(`
  apikey secretkey privatekey signingkey encryptionkey jwtkey authkey masterkey jaasconfig
  tokensvalue cookiesvalue secretsvalue passwordsvalue apikeysvalue`)

/** What is stored about secrets beside them: `{"tokens":{"count":…}}`. */
export const ABOUT_WORDS = words(`
  name names id ids type types kind count counts size sizes length total used left remaining limit
  max min avg average mean rate cost price budget created updated expires expiry expiration ttl age
  date at time timestamp ms url uri path file files domain policy enabled disabled status state
  version source target provider issuer scope scopes format encoding model description title label
  owner user username email details usage per sec second seconds prompt completion input output`)

/** Words before `key` or `keys`: what the key opens. */
export const KEY_WORDS = words(`
  api secret private priv access signing sign signature encryption encrypt decryption decrypt cipher
  crypto master shared preshared session account auth authentication authorization app
  application license licence subscription consumer webhook hmac aes rsa des fernet jwt jwe token
  cookie activation registration recovery unlock unseal wrapping symmetric validation machine
  functions function integration write ingest ingestion admin role customer deploy wep wpa psk sas
  in nonce
  stream voice bot merchant sandbox backend passwordless seal otp totp mfa sdk
  enc crypt vault creds openssl deterministic
  stripe sendgrid openai anthropic mailgun mailchimp mandrill postmark sparkpost twilio nexmo vonage
  plivo algolia pusher cosmos cosmosdb datadog dd newrelic rollbar honeybadger bugsnag honeycomb
  segment mixpanel amplitude launchdarkly mapbox maps cohere gemini mistral groq deepl cognitive
  speech
  translator search recaptcha captcha turnstile rapidapi logdna loggly papertrail airbrake raygun
  cloudinary imgix braintree razorpay adyen klarna paypal shodan virustotal pagerduty opsgenie
  weather openweather tmdb youtube giphy supabase firebase fcm vapid meilisearch meili elastic
  typesense pinecone weaviate qdrant langfuse langsmith replicate huggingface perplexity deepseek`)

/** Words between one of them and `key`: `SUPABASE_SERVICE_KEY`, `API_V3_KEY`. */
export const KEY_KINDS = words(
  'service server admin rest prod live test client secondary primary v',
)

/**
 * Words before `key` after which it often is something else as well: only what looks drawn at
 * random is a secret there.
 */
export const DRAWN_KEY_WORDS = words(`
  storage service client push network anon identity device ephemeral daemon tls ssl cert certificate
  keystore wallet project team org organization workspace tenant node cluster agent bucket me
  default`)

/** Words before `key` that say that everybody may see it, or that it finds something. */
export const PLAIN_KEY_WORDS = words(`
  public pub publishable publish site host ssh authorized peer verify verification kms cmk arn pair
  primary foreign unique partition sort hash range row shard index column field attribute property
  composite natural business surrogate candidate lookup join map cache object file s blob image
  photo picture media video audio asset attachment document upload download path prefix bucket
  group message msg event record entity item state job task process workflow feature flag
  experiment setting settings config configuration option translation locale language lang
  resource metric label tag annotation header route routing topic queue channel thread
  conversation room idempotency idempotent dedup deduplication dedupe correlation request trace
  span alert incident issue ticket start end next prev previous min max lower upper exclusive last
  first evaluated query search filter facet aggregate aggregation group sub parent child root
  hot any arrow enter escape esc shift control ctrl alt option meta function home delete
  tab caps up down left right websocket product order price plan sku store country city region
  zone currency redis memcached kafka dynamo dynamodb etcd consul pagination paging page cursor
  sequence version data value name type id uuid layout template theme style icon menu view
  component react`)

/**
 * Last words under which only what looks drawn at random is a secret: a session is also a talk, a
 * seed a number, a licence one of those of open source.
 */
export const DRAWN_WORDS = words(`
  session crumb assertion pepper salt seed mnemonic pat oauth license licence keytab kubeconfig
  keystore pfx sas`)
/** Words after them, and after keys, that say how they are written. */
export const ENCODING_WORDS = words(`
  value val raw enc encoded base hex pem der content contents data json string text b v`)

/** Words that are a secret's after certain others only, or weakly; `no` is a card's. */
export const OTHER_WORDS = words('key keys pin sid pass pw auth bearer csrf xsrf cred no')

/** Words before `pin` that make it a secret, not a pin on a map or a board, or a postal code. */
export const PIN_WORDS = words(`
  user card atm sim security access login account customer unlock wallet parental new old current
  confirm bank debit credit device my admin voicemail transaction payment sms signing verification
  smart client voting upi phone master mobile door alarm default temporary repeat retype`)
/** Words before `sid` that make it a session's. */
export const SID_WORDS = words('connect session auth php express login sso koa')

/** Words before `pass` that say it is a round, a ticket or a way. */
export const PASS_EXCEPTIONS = words(`
  first second third fourth last next final one two three multi single render boarding low high
  band compiler optimization optimizer by ski bus gate hall test tests forward backward shader depth
  lighting shadow mountain season day guest museum lounge proxy fast green travel train visitor did
  pre post base color geometry all total epoch llvm analysis bypass sanity health quality qa hard
  game battle event parking transit metro city rail interrail event events checks build lint audit`)

/** Words before a secret's word that make it none: `next_page_token`, `pad_token`. */
export const EXCEPTIONS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    'token',
    words(`
      next page nextpage paging pagination continuation continue cancel cancellation cancelation
      abort
      prev previous start begin end first last stop scroll sync nextsync cursor resume checkpoint
      offset position marker delta watermark snapshot iteration bos eos pad unk mask sep cls special
      unexpected expected lookahead syntax lexer lex parser operator punctuation keyword identifier
      newline comma vocab encoder decoder max min num number per count total prompt completion input
      output cached reasoning used remaining change sort fencing concurrency consistency causal
      ordering version row partition shard sequence sequencing progress idempotency idempotent
      invalidation design base quote gas reward governance erc nft native utility lp staking
      collateral underlying atlassian`),
  ],
  [
    'secret',
    words(`existing tls ssl cert certificate ingress kube kubernetes k from external pull volume
      trade`),
  ],
  ['credential', words('default verifiable include omit')],
  [
    'cookie',
    words(`block third party first reject essential fortune flow tracking strictly necessary
      marketing browser syn dns`),
  ],
  [
    'authorization',
    words(`pre payment prior work travel card capture spend employment fee merchant amount role
      policy
      parental medical insurance`),
  ],
  ['otp', words('erlang send resend')],
])

/** Words that show that a name asks or says something about a secret: `must_change_password`. */
export const FLAG_WORDS = words(`
  is has have had needs need requires require required supports support allow allows allowed can
  should must use uses with without no not show hide forgot skip missing expects accept accepts
  was did does ignore enforce validate toggle expire expires expired max min avg`)
/** Words of counters; strings under such names are still what was typed. */
export const COUNTER_WORDS = words(`
  invalid wrong incorrect bad failed rejected denied unknown duplicate num number total count`)

/**
 * Last words that say how a secret is kept, or which one it is: `password_hash`, `API_KEY_LIVE`.
 */
export const NEUTRAL_WORDS = words(`
  value val plain plaintext cleartext clear raw hash hashed digest encrypted enc encoded cipher
  ciphertext crypted base hex pem der sha md bcrypt argon pbkdf data content contents
  string
  json bytes binary blob confirmation confirm confirmed repeat repeated again retype retyped new old
  current previous prev backup primary secondary original temp temporary default test prod
  production
  staging stage dev development live sandbox salt pepper text v`)
/** The few of them that say so after `auth`, `pass`, `pin` and the like, too. */
export const HASH_WORDS = words('hash hashed digest confirmation confirm repeat plain encrypted')

/** Keys beside each other, normalized: `{"name":"Authorization","value":…}`. */
export const PAIR_NAME_KEYS = words(`
  name key header k field headername headerkey fieldname keyname envname parameterkey parametername
  attributename attributekey propertyname param parameter variable attribute property option label`)
export const PAIR_VALUE_KEYS = words(`
  value v val values rawvalue stringvalue headervalue fieldvalue envvalue parametervalue
  attributevalue propertyvalue oldvalue newvalue previousvalue currentvalue defaultvalue old new`)
/** Keys of flat lists of headers: a name, its value, a name. */
export const HEADER_LIST_KEYS = words(`
  headers rawheaders requestheaders responseheaders httpheaders reqheaders resheaders
  rawtrailers trailers metadata rawmetadata`)
