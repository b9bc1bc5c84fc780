"""Dealer, collector and party as HTTP servers, all of one shape. Needs the extra [serve].

routes.py   HTTP only: read the request, run a job, reply
jobs.py     what is done within one transaction: checks first, writes last
store.py    tables and queries
"""
