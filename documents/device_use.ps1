# Says as one JSON line what uses an EBS volume: a disk that is online is in use.
# Exit status: 0 whatever was found, or 66 no such disk.
# For Windows PowerShell 5.1, which is part of Windows Server since 2016.
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'

$action = '{{ action }}'
$volumeId = '{{ volumeId }}'

function Stop-Script([int] $Status, [string] $Reason) {
  [Console]::Error.WriteLine("rewarm: $Reason")
  exit $Status
}

# The first 20 characters of the serial are the volume's id without its dash.
$serial = $volumeId.Replace('vol-', 'vol')
$disk = Get-Disk | Where-Object { "$($_.SerialNumber)".Trim() -like "$serial*" } | Select-Object -First 1
if (-not $disk) { Stop-Script 66 "no disk with the serial number $serial" }
$number = $disk.Number
# Offline is how EBS wants a disk of Windows before it is detached; it dismounts the file systems.
if ($action -eq 'unmount' -and -not $disk.IsOffline) {
  Set-Disk -Number $number -IsOffline $true
  $disk = Get-Disk -Number $number
}
$mounts = @()
if (-not $disk.IsOffline) {
  $mounts = @(Get-Partition -DiskNumber $number -ErrorAction SilentlyContinue |
      ForEach-Object { $_.AccessPaths } | Where-Object { $_ -match '^[A-Z]:' })
  if ($mounts.Count -eq 0) { $mounts = @("disk $number, which is online") }
}
ConvertTo-Json -Compress -InputObject ([ordered]@{
  event = 'use'; volumeId = $volumeId; mounts = $mounts; others = @()
})
