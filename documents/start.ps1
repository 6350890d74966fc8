# Downloads Rewarm's agent unless it is here, checks its SHA-256 and starts it. The lines before this set the
# address, the SHA-256 and the agent's arguments.
# Exit status: the agent's own, or 65 wrong checksum, 69 the download failed, 70 the agent was ended from outside.
# For Windows PowerShell 5.1, which is part of Windows Server since 2016.
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor
  [Net.SecurityProtocolType]::Tls12

# Only administrators may write there, so nobody else can replace the program.
$agent = Join-Path $env:ProgramFiles "Rewarm\$agentSha256\warmer.exe"
$new = "$agent.$([Guid]::NewGuid())"

function Stop-Script([int] $Status, [string] $Reason) {
  Remove-Item -Force -ErrorAction SilentlyContinue -Path $new
  [Console]::Error.WriteLine("rewarm: $Reason")
  exit $Status
}

function Test-Checksum([string] $Path) {
  (Test-Path $Path) -and (Get-FileHash -Algorithm SHA256 -Path $Path).Hash -eq $agentSha256
}

if (-not (Test-Checksum $agent)) {
  $null = New-Item -ItemType Directory -Force -Path (Split-Path $agent)
  foreach ($try in 1..5) {
    # The address holds a signature, so it is never printed, and neither is the exception.
    try {
      Invoke-WebRequest -UseBasicParsing -Uri $agentUrl -OutFile $new -TimeoutSec 300
      break
    } catch {
      Start-Sleep -Seconds $try
    }
  }
  if (-not (Test-Path $new)) { Stop-Script 69 'could not download the warm-up agent' }
  if (-not (Test-Checksum $new)) { Stop-Script 65 "the agent's checksum is not $agentSha256" }
  try {
    # A move, so that a command beside this one never sees half a file.
    Move-Item -Force -Path $new -Destination $agent
  } catch {
    # The agent is running: the other command has put it there, and it is the same file.
    if (-not (Test-Checksum $agent)) { Stop-Script 69 "could not write $agent" }
    Remove-Item -Force -Path $new
  }
}

& $agent @words
if ($LASTEXITCODE -lt 0 -or $LASTEXITCODE -gt 128) {
  Stop-Script 70 "the agent was ended with status $LASTEXITCODE"
}
exit $LASTEXITCODE
