"""nginx as `proxy_pass` and as `proxy_cache`, from the Debian package where it is installed."""

import os
import re
import shutil
import subprocess
from pathlib import Path

_CONFIGURATION = """\
{user}
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    keepalive_requests 100000000;
    client_body_buffer_size 64k;
    client_body_in_single_buffer on;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    proxy_cache_path {folder}/cache keys_zone=answers:16m;
    upstream llm {{ server 127.0.0.1:{upstream_port}; keepalive 64; keepalive_requests 100000000; }}
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    server {{
        listen 127.0.0.1:{pass_port};
        location / {{ proxy_pass http://llm; proxy_buffering off; }}
    }}
    server {{
        listen 127.0.0.1:{cache_port};
        location / {{
            proxy_pass http://llm;
            proxy_cache answers;
            proxy_cache_methods POST;
            proxy_cache_key "$request_uri|$http_authorization|$request_body";
            proxy_cache_valid 200 1h;
            proxy_ignore_headers Cache-Control;
            add_header X-Cache $upstream_cache_status;
        }}
    }}
}}
"""


def find() -> str | None:
    """The nginx program; None where there is none."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def version(program: str) -> str:
    """Its version number."""
    told = subprocess.run([program, "-v"], capture_output=True, text=True, check=True)  # noqa: S603 - our own argument list
    found = re.search(r"nginx/(\S+)", told.stderr)
    return found.group(1) if found else "unknown"


def command(
    program: str, folder: Path, *, upstream_port: int, pass_port: int, cache_port: int
) -> list[str]:
    """Write the configuration into a folder and say how to start it in the foreground."""
    file = folder / "nginx.conf"
    file.write_text(
        _CONFIGURATION.format(
            # as root nginx would change to a user that cannot enter our folder
            user="user root;" if os.geteuid() == 0 else "",
            folder=folder,
            upstream_port=upstream_port,
            pass_port=pass_port,
            cache_port=cache_port,
        )
    )
    return [program, "-p", str(folder), "-c", str(file), "-g", "daemon off;"]
