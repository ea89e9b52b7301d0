"""The parties of the race, one in each file."""
from .aria2 import Aria2
from .curl import Curl
from .ferry import FerryPeer
from .home_made import HomeMade
from .libraries import AsyncHTTPClient, Libcurl, URLSession
from .nchan import Nchan
from .rclone import Rclone

PEERS = {peer.name: peer for peer in (FerryPeer, Aria2, Rclone, HomeMade, URLSession, AsyncHTTPClient, Curl, Libcurl, Nchan)}
