const COMMANDS: Record<string, string[]> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Opens a page in the default browser. Does nothing on a machine without one. */
export function openInBrowser(url: string) {
  const command = COMMANDS[process.platform] ?? ['xdg-open']
  try {
    // In its own session, so that Ctrl-C does not end a browser that this starts.
    Bun.spawn([...command, url], {
      stdio: ['ignore', 'ignore', 'ignore'],
      detached: true,
    }).unref()
  } catch {
    // The banner shows the URL.
  }
}
