/**
 * Crawlers, link previews, feed fetchers, scanners and monitors: one line each. Only what the
 * general rules of `find-agent.ts` would miss or name badly has to be here; a name that ends in
 * "bot" or contains "crawler" or "spider" is found without a line.
 *
 * A line is the name as it is stored, then `=` and its spelling where that differs. Case does not
 * matter, `-`, `_`, `/` and blanks are the same; a letter must not follow the name in the string.
 */
const SEARCH = `
Mediapartners-Google
APIs-Google
AppEngine-Google
DuplexWeb-Google
Google-InspectionTool
Google-Site-Verification
Google-Structured-Data-Testing-Tool
Google-Read-Aloud
Google-Safety
Google-Extended
Google-PhysicalWeb
Google-AMPHTML
Google-Adwords-Instant
Google-Ads-Creatives-Assistant
Google-Youtube-Links
Google-NotebookLM
Google-Firebase
google-xrawler
GoogleOther-Image
GoogleOther-Video
GoogleOther
GoogleProducer
GoogleAssociationService
GoogleImageProxy
Google Favicon
Google Web Preview
Google PP Default
Google Page Speed Insights
BingPreview
MicrosoftPreview
Yahoo! Slurp
Yahoo Link Preview
YahooCacheSystem
YahooMailProxy
YandexAdNet
YandexAntivirus
YandexBlogs
YandexCalendar
YandexDirect
YandexDirectDyn
YandexFavicons
YandexFavicon
YandexForDomain
YandexImageResizer
YandexImages
YandexMarket
YandexMedia
YandexMetrika
YandexNews
YandexOntoDB
YandexPagechecker
YandexPartner
YandexRCA
YandexSitelinks
YandexTracker
YandexTurbo
YandexUserproxy
YandexVertis
YandexVerticals
YandexVideo
YandexWebmaster
baidu Transcoder
Sogou web spider
Sogou Pic Spider
Sogou inst spider
Sogou News Spider
Qwantify
heritrix
Teoma
Ezooms
Genieo
SiteExplorer
SEOkicks
Barkrowler
BUbiNG
Screaming Frog SEO Spider
Expanse
HTTrack
WebCopier
WebZIP
Offline Explorer
Teleport Pro
Scrapy
Nutch
NutchCVS
Apache-Nutch
Spinn3r
BrandVerity
Linguee
Embedly
ArchiveBox
Sprinklr
WhatCMS
Bidtellect
PageThing.com
adbeat.com
outbrain
iframely
Disqus
proximic
ias-va
ADmantX
Jetslide
Qwant-news
Daum
Daumoa
Yeti
Marginalia = search.marginalia.nu
Superfeedr
`

const MODELS = `
ChatGPT-User
Claude-Web
Claude-User
anthropic-ai
Perplexity-User
meta-externalagent
cohere-ai
MistralAI-User
Gemini-Deep-Research
`

const PREVIEWS = `
facebookexternalhit
facebookexternalua
facebookcatalog
facebookplatform
Slack-ImgProxy
WhatsApp
SkypeUriPreview = SkypeUriPreview Preview
vkShare
Viber
Mastodon
Snap URL Preview Service
Google-Apps-Script
FlipboardProxy
FlipboardRSS
Prerender
Rendertron
WordPress.com mShots
SecurityTrails
ZoteroTranslationServer
Twingly Recon
AddThis.com
Blackboard Safeassign
`

const FEEDS = `
Feedly
Feedbin
FeedBurner
Feedspot
FeedBlitz
Feedjira
FeedValidator
Feed Wrangler
FeedPress
FreshRSS
Inoreader
NewsBlur Feed Fetcher
NewsBlur Page Fetcher
NewsBlur
NewsGator
Bloglovin
Bloglines
Blogtrottr
BazQux
CommaFeed
Miniflux
Tiny Tiny RSS
theoldreader.com
LiveJournal.com
UniversalFeedParser
SimplePie
MagpieRSS
selfoss
Digg Feed Fetcher
BoardReader
Apple-PubSub
PodcastAddict-Server
Datafeedwatch
G2Reader
Overcast Fetcher
`

const SCANNERS = `
zgrab
httpx = httpx - Open-source project
masscan
Nmap Scripting Engine
Nmap NSE
Nikto
sqlmap
Nessus
OpenVAS
Acunetix
WPScan
Nuclei
gobuster
DirBuster
dirsearch
Fuzz Faster U Fool
l9explore
l9tcpid
CensysInspect
Arachni
NetSystemsResearch
PunkMap
Qualys
NetcraftSurveyAgent
SSL Labs
W3C_Validator
W3C_CSS_Validator
W3C_I18n-Checker
W3C_Unicorn
W3C-checklink
W3C-mobileOK
Validator.nu
CloudFlare-AlwaysOnline
Cloudflare-Healthchecks
Cloudflare-SSLDetector
Cloudflare-Traffic-Manager
Cloudflare-Smart-Transit
CloudflareObservatory
CloudflareDiagnostics
Cloudflare-diagnostics
Cloudflare Custom Hostname Verification
Amazon CloudFront
Sectigo DCV = acme.sectigo.com
Let's Encrypt = Let's Encrypt validation server
`

const MONITORS = `
kube-probe
ELB-HealthChecker
GoogleHC
Google-Cloud-Scheduler
GoogleStackdriverMonitoring-UptimeChecks
Amazon-Route53-Health-Check-Service
Amazon Route 53 Health Check Service
Azure Traffic Manager Endpoint Monitor
Azure Front Door = Edge Health Probe Azure
Edge Health Probe
Load Balancer Agent
AlwaysOn
ReadyForRequest
Consul Health Check
Envoy = Envoy HC
HAProxy
Docker-Healthcheck
Uptime-Kuma
Uptimia
Better Uptime Bot
Better Stack Better Uptime Bot
BetterStack
PingdomPageSpeed
PingdomTMS
Pingdom = Pingdom.com_bot_version
StatusCake
StatusCake_Pagespeed_Indev
Site24x7
SolarWinds
NewRelicPinger
New Relic Synthetics
DatadogSynthetics
Datadog Synthetics
Dynatrace Synthetic = DynatraceSynthetic
RuxitSynthetic
Catchpoint
ThousandEyes
Checkly
HetrixTools
Freshping
Nagios
check_http
Icinga
Zabbix
Monit
Sensu
Prometheus
Blackbox Exporter
Grafana Synthetic = grafana-synthetic-monitoring
cron-job.org
EasyCron
updown.io = updown.io daemon
NodePing
Monitis
Montastic
GTmetrix
DareBoost
YellowLab
PTST
SpeedCurve
Calibre
Chrome-Lighthouse
Siteimprove
Siteimprove.com
Sentry Uptime = SentryUptimeBot
Oh Dear = OhDear.app
AppInsights
Rigor
WebPagetest
`

export const KNOWN_BOTS: readonly string[] = [
  SEARCH,
  MODELS,
  PREVIEWS,
  FEEDS,
  SCANNERS,
  MONITORS,
].flatMap((list) => list.trim().split('\n'))
