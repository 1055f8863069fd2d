import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Empty, Title } from '../ui/parts.tsx'
import { Loading } from '../ui/remote.tsx'

/** A screen whose code is loaded when it is first opened. */
export function loadedScreen(title: string, load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | null = null
  return function LoadedScreen() {
    const [Screen, setScreen] = useState(() => loaded)
    const [isMissing, setMissing] = useState(false)
    useEffect(() => {
      if (loaded) return
      load().then(
        (screen) => {
          loaded = screen
          setScreen(() => screen)
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
