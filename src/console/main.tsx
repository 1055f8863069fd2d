import { render } from 'preact'
import { App } from './app.tsx'
import { showDirectionControls } from './direction-controls.ts'
import { applyTheme } from './operator.ts'
import { startRouter } from './router.ts'
import { watchSetupLinks } from './setup-link.ts'

// The page shows this notice in browsers that lack a feature that the console needs.
const notice = document.getElementById('too-old')
if (notice?.hidden !== false) {
  notice?.remove()
  applyTheme()
  showDirectionControls()
  startRouter()
  watchSetupLinks()
  render(<App />, document.body)
}
