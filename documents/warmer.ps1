# Runs Rewarm's warm-up agent on one EBS volume, and prints the agent's final JSON line. Before it stands what a
# warm-up measured of the cold volume, if that was wanted.
# Exit status: the agent's own (0 to 4), or 65 wrong checksum, 66 no such device, 69 a download failed,
# 70 the agent was ended from outside.
# For Windows PowerShell 5.1, which is part of Windows Server since 2016.
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor
  [Net.SecurityProtocolType]::Tls12

$action = '{{ action }}'
$volumeId = '{{ volumeId }}'
$agentUrl = '{{ agentUrl }}'
$agentSha256 = '{{ agentSha256 }}'
$mapUrl = '{{ mapUrl }}'
$firstUrl = '{{ firstUrl }}'
$progressUrl = '{{ progressUrl }}'
$arguments = '{{ arguments }}'
$coldArguments = '{{ coldArguments }}'

# Only administrators may write there, so nobody else can put a program of their own in its place.
$folder = Join-Path $env:ProgramFiles 'Rewarm'
$agent = Join-Path $folder "$agentSha256\warmer.exe"
$work = Join-Path $folder ('work-' + [Guid]::NewGuid())
$state = $null
$cold = $null
$process = $null

function Stop-Script([int] $Status, [string] $Reason) {
  [Console]::Error.WriteLine("rewarm: $Reason")
  exit $Status
}

function Write-Note([string] $Text) {
  [Console]::Error.WriteLine("rewarm: $Text")
}

# The URL holds a signature, so it is never printed, and neither is the exception.
function Save-Download([string] $Url, [string] $Path, [string] $What) {
  foreach ($try in 1..5) {
    try {
      Invoke-WebRequest -UseBasicParsing -Uri $Url -OutFile $Path -TimeoutSec 300
      return
    } catch {
      Start-Sleep -Seconds $try
    }
  }
  Stop-Script 69 "could not download $What"
}

function Test-Checksum([string] $Path) {
  (Test-Path $Path) -and (Get-FileHash -Algorithm SHA256 -Path $Path).Hash -eq $agentSha256
}

# The first 20 characters of the serial are the volume's id without its dash.
function Find-Device {
  $serial = $volumeId.Replace('vol-', 'vol')
  foreach ($second in 1..60) {
    $disk = Get-Disk | Where-Object { "$($_.SerialNumber)".Trim() -like "$serial*" } |
      Select-Object -First 1
    if ($disk) { return "\\.\PHYSICALDRIVE$($disk.Number)" }
    Start-Sleep -Seconds 1
  }
  Stop-Script 66 "no disk with the serial number $serial after 60 s"
}

function Install-Agent {
  if (Test-Checksum $agent) { return }
  Save-Download $agentUrl "$work\warmer.exe" 'the warm-up agent'
  if (-not (Test-Checksum "$work\warmer.exe")) {
    Stop-Script 65 "the agent's checksum is not $agentSha256"
  }
  # A move within one file system, so that a command running beside this one never sees half a file.
  $null = New-Item -ItemType Directory -Force -Path (Split-Path $agent)
  try {
    Move-Item -Force -Path "$work\warmer.exe" -Destination $agent
  } catch {
    # It is running: then the other command has put it there, and it is the same.
    if (-not (Test-Checksum $agent)) { Stop-Script 69 "could not write $agent" }
  }
}

# Which blocks are read: the same command, sent again after a kill or a restart, goes on there. One file for
# each volume; it goes when all is read, and those that nobody came back for go after a week.
function Get-State {
  if ($action -ne 'warm') { return }
  $states = Join-Path $folder 'state'
  try {
    $null = New-Item -ItemType Directory -Force -Path $states
    Get-ChildItem -Path $states -Exclude $volumeId |
      Where-Object { $_.LastWriteTimeUtc -lt [DateTime]::UtcNow.AddDays(-7) } |
      Remove-Item -Force -ErrorAction SilentlyContinue
    Join-Path $states $volumeId
  } catch {
    Write-Note 'the warm-up goes on without a state: its folder cannot be written'
  }
}

# How slow the volume is before anything has read it. A warm-up that goes on finds the figure beside its state.
function Measure-Cold([string] $Device) {
  if ($action -ne 'warm' -or -not $coldArguments) { return }
  $script:cold = if ($state) { "$state.before" } else { "$work\before" }
  if (-not (Test-Path $cold) -and -not ($state -and (Test-Path $state))) {
    $line = "verify $Device "
    if ($mapUrl -ne 'none') { $line += "--map `"$work\blocks.map`" " }
    $script:process = Start-Process -FilePath $agent -ArgumentList ($line + $coldArguments) -NoNewWindow `
      -PassThru -RedirectStandardOutput "$work\cold" -RedirectStandardError "$work\errors"
    $script:process.WaitForExit()
    Get-Content -Path "$work\cold" | Where-Object { $_ -match '^\{.*"event":"result".*\}$' } |
      Select-Object -Last 1 | ForEach-Object { $_.Replace('"event":"result"', '"event":"before"') } |
      Set-Content -Path $cold
  }
  Get-Content -ErrorAction SilentlyContinue -Path $cold
}

# Did the agent end without its last word, as where somebody killed it?
function Test-Killed([int] $Status) {
  $Status -notin 0, 2, 3, 4 -and -not ((Get-LastLine 2) -match '"event":"result"')
}

# The very last line may still be growing; a complete one ends with a brace.
function Get-LastLine([int] $Lines) {
  Get-Content -Path "$work\output" -Tail $Lines | Where-Object { $_ -match '^\{.*\}$' } |
    Select-Object -Last 1
}

function Publish-Progress {
  if ($progressUrl -eq 'none') { return }
  $line = Get-LastLine 2
  if (-not $line) { return }
  try {
    $null = Invoke-WebRequest -UseBasicParsing -Method Put -Uri $progressUrl -TimeoutSec 5 `
      -ContentType 'application/json' -Body ([Text.Encoding]::UTF8.GetBytes($line))
  } catch {
    # The next one may come through.
    $null = $_
  }
}

# Answers with the agent's exit status. The arguments are plain flags: the document refuses others.
function Invoke-Agent([string] $Device) {
  $line = "$action $Device "
  if ($mapUrl -ne 'none') { $line += "--map `"$work\blocks.map`" " }
  if ($firstUrl -ne 'none') { $line += "--first `"$work\first.map`" " }
  if ($state) { $line += "--state `"$state`" " }
  if ($action -eq 'warm') { $line += '--progress json ' }
  $script:process = Start-Process -FilePath $agent -ArgumentList ($line + $arguments) -NoNewWindow `
    -PassThru -RedirectStandardOutput "$work\output" -RedirectStandardError "$work\errors"
  # Without the handle in hand, PowerShell forgets the exit status.
  $null = $script:process.Handle
  while (-not $script:process.WaitForExit(2000)) {
    if ($action -eq 'warm') { Publish-Progress }
  }
  $script:process.ExitCode
}

try {
  $null = New-Item -ItemType Directory -Force -Path $work
  $device = Find-Device
  Install-Agent
  if ($mapUrl -ne 'none') { Save-Download $mapUrl "$work\blocks.map" 'the block map' }
  if ($firstUrl -ne 'none') {
    Save-Download $firstUrl "$work\first.map" 'the extents to read first'
  }
  $state = Get-State
  Measure-Cold $device
  $result = Invoke-Agent $device
  $restarts = 0
  while ($true) {
    if ($result -eq 3 -and (Select-String -Quiet -Path "$work\errors" `
          -Pattern 'another warmer is (reading|using) it')) {
      # SendCommand has no client token: where its answer was lost, there are two commands, and only one of
      # them is known. It goes after the other one; what is warm by then is read in no time.
      Start-Sleep -Seconds 5
    } elseif ($result -eq 3 -and $state -and (Select-String -Quiet -Path "$work\errors" `
          -Pattern 'cannot use state file')) {
      Write-Note "the warm-up goes on without a state: $(Get-Content -Path "$work\errors" -Tail 1)"
      Remove-Item -Force -ErrorAction SilentlyContinue -Path $state
      $state = $null
    } elseif ($action -eq 'warm' -and $restarts -lt 3 -and (Test-Killed $result)) {
      $restarts += 1
      Write-Note "the agent was ended with status $result and is started again"
    } else {
      break
    }
    $result = Invoke-Agent $device
  }
  if ($result -eq 0) {
    $state, $cold | Where-Object { $_ } | Remove-Item -Force -ErrorAction SilentlyContinue
  }
  if ($action -eq 'warm') { Publish-Progress }
  # Run Command keeps 24,000 characters of standard output and 8,000 of standard error.
  $errors = [string] (Get-Content -Raw -Path "$work\errors")
  [Console]::Error.Write($errors.Substring([Math]::Max(0, $errors.Length - 6000)))
  Get-LastLine 1000
  if (Test-Killed $result) { Stop-Script 70 "the agent was ended with status $result" }
  exit $result
} finally {
  if ($process -and -not $process.HasExited) { $process.Kill(); $null = $process.WaitForExit(10000) }
  Remove-Item -Recurse -Force -ErrorAction SilentlyContinue -Path $work
}
