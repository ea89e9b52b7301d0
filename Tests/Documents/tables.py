"""How the pages are run: the pages, the commands that a test cannot run, and the commands that the tests add."""
import re

PAGES = [
    "clients/README.md", "clients/python/README.md", "docs/background-sessions.md", "docs/backup.md", "docs/dashboard.md", "docs/deploy.md",
    "docs/destinations.md", "docs/operations.md", "docs/polling.md", "docs/proxies.md", "docs/settings.md", "docs/swift.md",
    "docs/troubleshooting.md", "docs/upgrades.md", "docs/webhooks.md",
]

# Pages with another runner, and the languages of their blocks.
ELSEWHERE = {
    "ARCHITECTURE.md": ([""], "LayerTests compares the picture with Package.swift"),
    "README.md": (["sh", "", "shell"], "scripts/tutorial.py; the `shell` block names the targets of make"),
    "clients/typescript/README.md": (["ts"], "clients/tests/page.py"),
    "docs/clients.md": (["python", "ts"], "clients/tests/page.py"),
    "docs/command-line.md": (["sh"], "CommandLinePageTests"),
    "docs/tutorial.md": (["sh", ""], "scripts/tutorial.py"),
}

# The commands that change the machine. A block with one of them never runs.
MACHINE = re.compile(r"^ *(sudo|apt|apt-get|dpkg|systemctl|docker|podman|kubectl|helm) ", re.MULTILINE)

# Blocks that change the machine or need a cluster, by the beginning of their text. The tests check their syntax, the files of the
# repository, the arguments of the Dockerfile and the values of the chart that they name.
NOT_RUN = {
    "docs/deploy.md": {
        "sudo apt install ./ferry": "installs the package; scripts/package-test.py does it in a root directory of its own",
        "sudo install -d -o ferry": "needs the user of the package and an editor",
        "docker build -t ferry .\n": "needs a container engine; scripts/image-test.py builds and runs the image",
        "docker build -t ferry --build-arg": "needs a container engine and digests of base images",
        "openssl rand -hex 32 | sudo install": "needs root, and a container engine",
        "kubectl create secret generic ferry-tokens --from-literal=tokens=\"$(openssl rand -hex 32)\"\nkubectl apply":
            "needs a cluster; scripts/deploy-check.sh checks the manifests",
        "kubectl create secret generic ferry-tokens --from-literal=tokens=\"$(openssl rand -hex 32)\"\nhelm install":
            "needs a cluster; scripts/deploy-check.sh renders the chart",
        "helm upgrade ferry": "needs a cluster; scripts/deploy-check.sh renders the chart",
    },
}

# Text of the pages, and what the tests use in its place. Paths are below the directory of the test.
REPLACED = {
    "https://origin.example": "http://ORIGIN",
    "https://client.example": "http://ORIGIN",
    "https://example.com": "http://ORIGIN",
    '"https://…"': '"http://ORIGIN/photo.jpg"',
    "127.0.0.1:9010": "ORIGIN",
    "/var/lib/ferry": "DIRECTORY/var/lib/ferry",
    "/srv/": "DIRECTORY/srv/",
    "/etc/nginx/": "DIRECTORY/etc/",
    "/etc/haproxy/": "DIRECTORY/etc/",
    # A busy machine needs more time.
    "--retry 9 ": "--retry 60 ",
    "sleep 1; kill -TERM $old": "waits grep -q photo.bin origin.log; kill -TERM $old; waits draining 7070",
}

PORTS = [443, 7070, 7071, 8080, 8081, 9000, 9010, 9011, 9012]

SERVE = "ferry serve --data-directory data\n"
SESSION = "curl -fsS 127.0.0.1:8080/v1/sessions -H 'Content-Type: application/json' -d"
TASK = "curl -fsS 127.0.0.1:8080/v1/sessions/$session/tasks -H 'Content-Type: application/json' -d"
PHOTO = '"kind": "download", "resume": true, "request": {"url": "http://ORIGIN/photo.jpg"}'

# Commands before a block, by its number on the page. Number -1 stands for the end of the page.
BEFORE = {
    "clients/README.md": {0: "cd ROOT"},
    "clients/python/README.md": {0: SERVE},
    "docs/background-sessions.md": {
        0: SERVE,
        1: f"""session=$({SESSION} '{{"type": "background", "identifier": "busy", "delegate": {{}}}}' | jq -r .id)
            task=$({TASK} '{{"kind": "download", "resume": true, "request": {{"url": "http://ORIGIN/busy"}}}}' | jq -r .id)
            retries() {{ curl -fsS 127.0.0.1:8080/v1/tasks/$task | tee task.json | grep -q waitingToRetry; }}
            waits retries""",
        3: f"""session=$(curl -fsS 127.0.0.1:8080/v1/sessions | jq -r '.items[] | select(.identifier == "com.example.photos") | .id')
            {TASK} '{{{PHOTO}}}'""",
        -1: "ferry stop --worker --data-directory data",
    },
    "docs/backup.md": {
        0: f"""ferry serve --data-directory /var/lib/ferry
            session=$({SESSION} '{{}}' | jq -r .id)""",
        -1: "curl -fsS 127.0.0.1:8080/v1/sessions/$session",
    },
    "docs/dashboard.md": {0: SERVE},
    "docs/destinations.md": {
        0: "mkdir -p /srv/media",
        -1: "waits test -s /srv/media/iso/a.iso; stat -c %a /srv/media/iso/a.iso | grep -x 640",
    },
    "docs/operations.md": {
        1: "stop",
        3: f"""{SERVE}{SESSION} '{{}}'
            stop""",
    },
    "docs/polling.md": {0: SERVE, -1: "[ $(curl -fsS $ferry/v1/tasks/$task | jq -r .outcome) = succeeded ]"},
    "docs/proxies.md": {
        0: f"""openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=ferry.example -keyout /etc/nginx/ferry.key -out ferry.crt
            cat ferry.crt /etc/nginx/ferry.key >/etc/nginx/ferry.pem
            export FERRY_TOKENS=secret
            {SERVE}""",
    },
    "docs/troubleshooting.md": {
        0: f"""{SERVE}task=$(create '{{"kind": "download", "resume": true, "request": {{"url": "http://ORIGIN/slow"}}}}')
            half() {{ curl -fsS 127.0.0.1:8080/v1/tasks/$task | grep -q '"countOfBytesReceived":50'; }}
            waits half""",
        -1: "curl -fsS 127.0.0.1:8080/v1/tasks/$task -H 'Prefer: wait=60' | grep '\"outcome\":\"succeeded\"'",
    },
    "docs/webhooks.md": {
        0: "ferry serve --data-directory data --webhook-schedule 0,1,1",
        # The page continues with messages that an endpoint has refused.
        14: f"""create '{{{PHOTO}, "completion": {{"webhook": {{"url": "http://ORIGIN/500"}}}}}}'
            failed() {{ curl -fsS '127.0.0.1:8080/v1/webhooks/deliveries?state=failed' | grep -q '"state":"failed"'; }}
            waits failed""",
        18: "waits failed",
    },
}

# The configuration around a block, its file, and the program that runs it.
PROXIES = {
    "nginx": ("daemon off; master_process off; pid pid; events {{}} http {{ access_log off; client_body_temp_path 1; proxy_temp_path 2; "
              "fastcgi_temp_path 3; uwsgi_temp_path 4; scgi_temp_path 5;\n{} }}", "/usr/sbin/nginx -p . -c FILE -e error.log"),
    "haproxy": ("{}", "/usr/sbin/haproxy -f FILE"),
    "caddy": ("{{\n admin off\n local_certs\n skip_install_trust\n auto_https disable_redirects\n https_port 443\n}}\n{}",
              "env XDG_DATA_HOME=DIRECTORY XDG_CONFIG_HOME=DIRECTORY caddy run --config FILE --adapter caddyfile"),
}
THROUGH_PROXY = """
curl="curl -fsSk --retry 60 --retry-connrefused --retry-delay 1 --resolve ferry.example:443:127.0.0.1 https://ferry.example:443"
$curl/v1/sessions -H 'Authorization: Bearer secret'
head -c 3000000 /dev/zero | $curl/v1/files -H 'Authorization: Bearer secret' -H 'Content-Type: text/plain' --data-binary @-
streams "$curl" -H 'Authorization: Bearer secret'
kill $proxy; wait $proxy || true
"""
THROUGH_PREFIX = """
curl -fsS --retry 60 --retry-connrefused --retry-delay 1 127.0.0.1:443/ferry/ -H 'Accept: text/html' | grep '<title>'
streams "curl -fsS 127.0.0.1:443/ferry"
kill $proxy; wait $proxy || true
"""
