#!/usr/bin/env bash
# Runs alone.
# P7, P2: nothing that the system starts later is left: no job of at or cron, no unit, no login
# script, no rule, no timer.
# shellcheck disable=SC2016 # texts for the inside are not expanded here

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

mkdir ws
places=(/var/spool/cron /var/spool/at /etc/cron.d /etc/cron.daily /etc/systemd /run/systemd /etc/profile.d /etc/init.d /etc/rc.local /etc/udev /run/udev /etc/ld.so.preload /etc/sudoers.d /etc/pam.d /etc/environment /etc/xdg/autostart /usr/lib/systemd/system "$HOME/.config" "$HOME/.bashrc" "$HOME/.profile" "$HOME/.local" "$HOME/.ssh" "$HOME/.pam_environment")
state() { find "${places[@]}" -newer "$scratch/start" 2> /dev/null; }
touch "$scratch/start"
sleep 0.02
nacre run -w ws 'for d in /var/spool/cron/crontabs /var/spool/at /etc/cron.d /etc/systemd/system /run/systemd/system /etc/profile.d ~/.config/systemd/user ~/.config/autostart ~/.local/share/systemd/user ~/.ssh /etc/udev/rules.d /run/udev/rules.d; do mkdir -p $d; echo "* * * * * root touch /harm" > $d/nacre-test; done; for f in /etc/ld.so.preload /etc/crontab /etc/environment /etc/rc.local ~/.bashrc ~/.profile ~/.pam_environment; do echo harm >> $f; done
echo "touch harm" | at now; echo "* * * * * touch harm" | crontab -; systemd-run --user touch harm; systemctl --user daemon-reload; busctl --user list; loginctl enable-linger; true' > /dev/null 2>&1
is 'no file of that kind is there' "$(state)" ''
is 'no unit, job or timer either' "$(find /etc /run /var/spool /usr/lib/systemd -xdev -name nacre-test -newer "$scratch/start" 2> /dev/null)" ''
# What stays in the workspace is only files: nothing of it runs by itself.
nacre run -w ws 'echo "touch $PWD/harm" > job; chmod +x job; python3 -c "
import os, signal
signal.setitimer(signal.ITIMER_REAL, 0.3)
os.setsid()"; (sleep 0.3; ./job) & exit 0'
sleep 0.6
refute 'nothing runs after the end' test -e ws/harm

done_testing
