const DATA_DIR = /^Environment=DATA_DIR=(.+)$/m

type UnitOptions = { user: string; home: string; executable: string; environment: string }

/** With minimal privileges (`systemd-analyze security homeport`), but the JIT rules out MemoryDenyWriteExecute. */
export function formatUnit({ user, home, executable, environment }: UnitOptions): string {
  return `[Unit]
Description=Homeport
After=network-online.target
Wants=network-online.target

[Service]
Type=notify
NotifyAccess=all
ExecStart=${executable} serve
ExecReload=${executable} restart
EnvironmentFile=${environment}
Environment=DATA_DIR=${home}/data
Environment=SERVICE_ENVIRONMENT_FILE=${environment}
User=${user}
Group=${user}
WorkingDirectory=${home}
RuntimeDirectory=homeport
Restart=on-failure
RestartSec=2
# The configuration is invalid: restarting does not help.
RestartPreventExitStatus=78
# Requests in flight get ten seconds, then they are cut off.
TimeoutStopSec=20
# Migrating a large database can take minutes.
TimeoutStartSec=15min
WatchdogSec=60
# A child process that runs out of memory fails alone: the server starts another one.
OOMPolicy=continue
UMask=0077
LimitNOFILE=65536

AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
NoNewPrivileges=true
ProtectSystem=strict
ReadWritePaths=${home}
ProtectHome=true
PrivateTmp=true
PrivateDevices=true
PrivateMounts=true
ProtectClock=true
ProtectHostname=true
ProtectKernelLogs=true
ProtectKernelModules=true
ProtectKernelTunables=true
ProtectControlGroups=true
ProtectProc=invisible
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=true
RestrictRealtime=true
RestrictSUIDSGID=true
LockPersonality=true
RemoveIPC=true
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`
}

export function readDataDir(unit: string): string | null {
  return DATA_DIR.exec(unit)?.[1] ?? null
}
