import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Empty, Title } from '../ui/parts.tsx'
import { Loading } from '../ui/remote.tsx'

type Module = { Screen: ComponentType }

/** A screen whose module is loaded when it is first opened. */
export function loadedScreen(title: string, load: () => Promise<Module>): ComponentType {
  let loaded: ComponentType | null = null
  return function LoadedScreen() {
    const [Screen, setScreen] = useState(() => loaded)
    const [isMissing, setMissing] = useState(false)
    useEffect(() => {
      if (loaded) return
      load().then(
        (module) => {
          loaded = module.Screen
          setScreen(() => loaded)
        },
        () => setMissing(true),
      )
    }, [])
    if (Screen) return <Screen />
    return (
      <>
        <Title>{title}</Title>
        {isMissing ? <Empty>This screen could not be loaded. Reload the page.</Empty> : <Loading />}
      </>
    )
  }
}
