"""nginx with nchan, which has event streams only."""
from .peer import *

MODULE = "/usr/lib/nginx/modules/ngx_nchan_module.so"


class Nchan(Peer):
    name = "nchan"
    needs = MODULE
    # The length of an event of Ferry.
    MESSAGE = "x" * 300
    CONF = """
load_module {module};
user root; daemon off; worker_processes auto; pid {dir}/nginx.pid; error_log {dir}/error.log crit;
worker_rlimit_nofile 40000;
events {{ worker_connections 20000; multi_accept on; }}
http {{
  access_log off; tcp_nodelay on; keepalive_timeout 300s; keepalive_requests 10000000; nchan_shared_memory_size 128M;
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fcgi;
  uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  server {{
    listen 127.0.0.1:{port} reuseport backlog=8192;
    location = /tell {{ nchan_publisher; nchan_channel_id all; nchan_message_timeout 120s; }}
    location = /ends {{ nchan_subscriber eventsource; nchan_channel_id all; }}
  }}
}}
"""

    def __init__(self, directory, origin, at_once, *options):
        super().__init__(directory, origin, at_once)
        self.port = free_port()
        with open(f"{directory}/nginx.conf", "w") as f:
            f.write(self.CONF.format(dir=directory, port=self.port, module=MODULE))
        self.process = subprocess.Popen(["/usr/sbin/nginx", "-c", f"{directory}/nginx.conf"], stderr=subprocess.DEVNULL)
        wait_for_port(self.port)

    def warm_up(self):
        """Does nothing, because nchan has no jobs."""

    def channel(self):
        self.teller, self.client = Client(self.port), Client(self.port)
        return "/ends"

    def tell(self):
        self.teller.send("/tell", self.MESSAGE)

    def told(self):
        self.teller.reply()

    def look(self):
        """Reads the number of subscribers."""
        self.client.get("/tell")
