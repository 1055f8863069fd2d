import { render } from 'preact'
import { App } from './app.tsx'
import { showDirectionControls } from './direction-controls.ts'
import { startRouter } from './router.ts'
import { watchSetupLinks } from './setup-link.ts'

showDirectionControls()
startRouter()
watchSetupLinks()
render(<App />, document.body)
