import { render } from 'preact'
import { App } from './app.tsx'
import { startRouter } from './router.ts'

startRouter()
render(<App />, document.body)
