/** Starts the page: signs in by a one-time link if there is one, then shows the app. */
import { render } from 'preact'
import './base/theme.ts'
import { signInByLink } from './shell/sign-in-link.ts'
import './style/main.css'
import { App } from './shell/app.tsx'

await signInByLink()
render(<App />, document.getElementById('app')!)
