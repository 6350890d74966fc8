# Copies a file twice and prints how long it took, as one JSON line: the first copy has the first touches.
# Exit status: 0, or 66 no such file or folder, 73 no room for the copy.
# For Windows PowerShell 5.1, which is part of Windows Server since 2016.
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'

$file = '{{ file }}'
$folder = '{{ folder }}'

$copy = Join-Path $folder ('rewarm-benchmark-' + [Guid]::NewGuid() + '.tmp')

function Stop-Script([int] $Status, [string] $Reason) {
  [Console]::Error.WriteLine("rewarm: $Reason")
  exit $Status
}

function Measure-Copy {
  $watch = [Diagnostics.Stopwatch]::StartNew()
  Copy-Item -LiteralPath $file -Destination $copy
  $watch.Stop()
  Remove-Item -Force -LiteralPath $copy
  $watch.Elapsed.TotalSeconds
}

try {
  if (-not (Test-Path -LiteralPath $file -PathType Leaf)) { Stop-Script 66 "there is no file $file" }
  if (-not (Test-Path -LiteralPath $folder -PathType Container)) {
    Stop-Script 66 "there is no folder $folder"
  }
  $size = (Get-Item -LiteralPath $file).Length
  $free = (Get-Item -LiteralPath $folder).PSDrive.Free
  if ($null -ne $free -and $free -lt $size) { Stop-Script 73 "$folder has no room for $size bytes" }
  $first = Measure-Copy
  $second = Measure-Copy
  ConvertTo-Json -Compress -InputObject ([ordered]@{
    event = 'result'; command = 'copy'; sizeBytes = $size; firstSeconds = $first; secondSeconds = $second
  })
} finally {
  Remove-Item -Force -ErrorAction SilentlyContinue -LiteralPath $copy
}
