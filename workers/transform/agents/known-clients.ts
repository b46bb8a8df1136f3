/**
 * Programs that are neither browsers nor bots: one line each, spelled as in `known-bots.ts`.
 * Programs whose string begins with their name and version (`payments-worker/2.1`) need no line;
 * those listed here have no version, say more than their name, or give an address as bots do.
 */

/** Counted where they begin the string. */
const LEADING = `
curl
Wget
node-fetch
electron-fetch
undici
node
Node.js
Deno
Bun
got
request
axios
Ruby
Faraday
Typhoeus
Mechanize
WWW-Mechanize
LWP::Simple
HTTP_Request2
PHP-Curl-Class
Symfony HttpClient
GuzzleHttp
Guzzle
PHP
Java
Jersey
Go-http-client = Go 1.1 package http
Go-http-client
go-resty
fasthttp
quic-go
uclient-fetch
libdnf
libcurl
harbor-registry-client
vimeo.php
trafilatura
k6
Terraform
Chef Client
Puppet
Ansible = ansible-httpget
Fluent-Bit
Fluentd
Vector
Logstash
WordPress
Drupal
Joomla
MediaWiki
Magento
Artifactory
Sonatype
NetNewsWire
Liferea
Akregator
newsboat
Newsbeuter
RSSOwl
Reeder
ReadKit
QuiteRSS
Thunderbird
Airmail
Winamp
VLC
mpv
MPlayer
foobar2000
Kodi
XBMC
Rhythmbox
Clementine
Amarok
Banshee
QuickTime
iTunes
MacAppStore
AppleCoreMedia
Spotify
Dalvik
Microsoft Office Protocol Discovery
Microsoft Office Existence Discovery
Microsoft-WebDAV-MiniRedir
Microsoft Data Access Internet Publishing Provider
ELinks
Roku = Roku DVP
`

/** Counted anywhere. */
const INSIDE = `
Thunderbird
Microsoft Outlook
Outlook-iOS
Outlook-Android
Microsoft Office = MSOffice
PowerShell = WindowsPowerShell
PowerShell
ExoPlayer = ExoPlayerLib
WinHttp = WinHttp.WinHttpRequest
NintendoBrowser
LinkedIn = LinkedInApp]
Pinterest = Pinterest for iOS
Pinterest = [Pinterest iOS
Pinterest = [Pinterest Android
Facebook Messenger = FBAN MessengerForiOS
Facebook Messenger = FBAN MessengerLiteForiOS
Facebook Messenger = FB_IAB Orca-Android
jsdom
SlimerJS
Cypress
`

const lines = (list: string): readonly string[] => list.trim().split('\n')

export const LEADING_CLIENTS: readonly string[] = lines(LEADING)
export const INSIDE_CLIENTS: readonly string[] = lines(INSIDE)
